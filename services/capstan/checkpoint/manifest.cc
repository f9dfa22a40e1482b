#include "capstan/checkpoint/manifest.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/sealed_json.h"

namespace capstan {
namespace {

constexpr uint32_t kManifestFormat = 1;
absl::Status CheckManifest(const v1::Manifest& manifest) {
  std::vector<bool> seen(manifest.job().partition_count());
  for (const v1::SavedFile& file : manifest.files()) {
    if (file.partition() >= seen.size() || seen[file.partition()]) {
      return absl::InvalidArgumentError(absl::StrCat("manifest: partition ", file.partition(),
                                                     " of ", seen.size(),
                                                     " is named twice or unknown"));
    }
    if (file.name() != PartitionFileName(PartitionIndex(file.partition()))) {
      return absl::InvalidArgumentError(
          absl::StrCat("manifest: ", file.name(), " is not the name of a partition's file"));
    }
    seen[file.partition()] = true;
  }
  if (static_cast<size_t>(manifest.files_size()) == seen.size() && !seen.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("manifest: ", manifest.files_size(), " files for ", seen.size(), " partitions"));
}

}  // namespace

absl::StatusOr<std::string> ManifestText(const v1::Manifest& manifest) {
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  v1::Manifest complete = manifest;
  complete.set_format(kManifestFormat);
  return SealJson(complete);
}

absl::StatusOr<v1::Manifest> ParseManifest(const std::string& text) {
  v1::Manifest manifest;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson("MANIFEST.json", text, manifest));
  if (manifest.format() != kManifestFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "MANIFEST.json: format ", manifest.format(), " is not known here, only ", kManifestFormat));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

}  // namespace capstan
