#include "capstan/checkpoint/manifest.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/sealed_json.h"

namespace capstan {
namespace {

constexpr uint32_t kOneFileAnObject = 1;
constexpr uint32_t kSeveralFilesAnObject = 2;

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", why));
}

// Checks that the files in each object cover it completely, and that it is named after the first of
// them.
absl::Status CheckObjects(const v1::Manifest& manifest) {
  std::map<std::string, std::map<uint64_t, const v1::SavedFile*>> objects;  // By name and offset.
  for (const v1::SavedFile& file : manifest.files()) {
    if (!objects[file.name()].emplace(file.offset(), &file).second) {
      return Refuse(absl::StrCat("two files at the same place of ", file.name()));
    }
  }
  for (const auto& [name, files] : objects) {
    if (name != PartitionFileName(PartitionIndex(files.begin()->second->partition()))) {
      return Refuse(absl::StrCat(name, " is not the name of a partition's file"));
    }
    uint64_t end = 0;
    for (const auto& [offset, file] : files) {
      if (offset != end || file->bytes() > ObjectBytes(*file) - end) {
        return Refuse(absl::StrCat("the files in ", name, " overlap or leave a gap"));
      }
      end += file->bytes();
    }
    for (const auto& [offset, file] : files) {
      if (ObjectBytes(*file) != end) {
        return Refuse(absl::StrCat("the files in ", name, " do not fill it"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckManifest(const v1::Manifest& manifest) {
  const size_t partitions = manifest.job().partition_count();
  if (static_cast<size_t>(manifest.files_size()) != partitions || partitions == 0) {
    return Refuse(absl::StrCat(manifest.files_size(), " files for ", partitions, " partitions"));
  }
  std::vector<bool> seen(partitions);
  for (const v1::SavedFile& file : manifest.files()) {
    if (file.partition() >= partitions || seen[file.partition()]) {
      return Refuse(absl::StrCat("partition ", file.partition(), " of ", partitions,
                                 " is named twice or unknown"));
    }
    seen[file.partition()] = true;
  }
  return CheckObjects(manifest);
}

}  // namespace

absl::StatusOr<std::string> ManifestText(const v1::Manifest& manifest) {
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  v1::Manifest complete = manifest;
  const bool packed = std::any_of(manifest.files().begin(), manifest.files().end(),
                                  [](const auto& file) { return file.object_bytes() != 0; });
  complete.set_format(packed ? kSeveralFilesAnObject : kOneFileAnObject);
  return SealJson(complete);
}

absl::StatusOr<v1::Manifest> ParseManifest(const std::string& text) {
  v1::Manifest manifest;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson("MANIFEST.json", text, manifest));
  if (manifest.format() < kOneFileAnObject || manifest.format() > kSeveralFilesAnObject) {
    return absl::FailedPreconditionError(absl::StrCat("MANIFEST.json: format ", manifest.format(),
                                                      " is not known here, only ", kOneFileAnObject,
                                                      " to ", kSeveralFilesAnObject));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

}  // namespace capstan
