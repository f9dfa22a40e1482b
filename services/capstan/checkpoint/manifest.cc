#include "capstan/checkpoint/manifest.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "google/protobuf/util/json_util.h"

namespace capstan {
namespace {

namespace json = google::protobuf::util;

constexpr uint32_t kManifestFormat = 1;
constexpr std::string_view kCrcFront = ",\n \"crc32c\": \"";
constexpr std::string_view kCrcBack = "\"\n}\n";
constexpr size_t kCrcDigits = 8;

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

std::string CrcLine(std::string_view body) {
  return absl::StrCat(absl::string_view(kCrcFront.data(), kCrcFront.size()),
                      absl::StrFormat("%08x", Crc32c(body)),
                      absl::string_view(kCrcBack.data(), kCrcBack.size()));
}

}  // namespace

absl::StatusOr<std::string> ManifestText(const v1::Manifest& manifest) {
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  v1::Manifest complete = manifest;
  complete.set_format(kManifestFormat);
  json::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!json::MessageToJsonString(complete, &text, options).ok()) {
    return absl::InternalError("manifest: cannot be written as JSON");
  }
  text.resize(text.find_last_of('}'));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + CrcLine(text);
}

absl::StatusOr<v1::Manifest> ParseManifest(const std::string& text) {
  const size_t tail = kCrcFront.size() + kCrcDigits + kCrcBack.size();
  const std::string body = text.size() < tail ? "" : text.substr(0, text.size() - tail);
  if (text != body + CrcLine(body)) {
    return absl::DataLossError("MANIFEST.json: the checksum does not agree");
  }
  v1::Manifest manifest;
  json::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!json::JsonStringToMessage(body + "\n}\n", &manifest, options).ok()) {
    return absl::DataLossError("MANIFEST.json: not a manifest");
  }
  if (manifest.format() != kManifestFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "MANIFEST.json: format ", manifest.format(), " is not known here, only ", kManifestFormat));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

}  // namespace capstan
