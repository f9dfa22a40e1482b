#include "capstan/checkpoint/checkpoint.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "google/protobuf/util/json_util.h"

namespace capstan {
namespace {

constexpr uint32_t kManifestFormat = 1;
constexpr std::string_view kCrcFront = ",\n \"crc32c\": \"";
constexpr std::string_view kCrcBack = "\"\n}\n";
constexpr size_t kCrcDigits = 8;

absl::Status Prefixed(absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

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

std::string PartitionFileName(PartitionIndex partition) {
  return absl::StrFormat("partition-%04d.capstan", Raw(partition));
}

absl::StatusOr<v1::SavedFile> WritePartitionFile(ObjectStore& folder, PartitionIndex partition,
                                                 std::string_view encoded, uint64_t rows) {
  v1::SavedFile file;
  file.set_partition(Raw(partition));
  file.set_name(PartitionFileName(partition));
  file.set_bytes(encoded.size());
  file.set_crc32c(Crc32c(encoded));
  file.set_rows(rows);
  CAPSTAN_RETURN_IF_ERROR(folder.Put(file.name(), encoded));
  return file;
}

absl::StatusOr<DecodedPartition> ReadPartitionFile(ObjectStore& folder, const v1::SavedFile& file,
                                                   const v1::JobSpec& job,
                                                   const DenseLayout& layout) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, folder.Get(file.name()));
  if (bytes.size() != file.bytes() || Crc32c(bytes) != file.crc32c()) {
    return absl::DataLossError(
        absl::StrFormat("%s: %d bytes with checksum %08x, the manifest names %d and %08x",
                        file.name(), bytes.size(), Crc32c(bytes), file.bytes(), file.crc32c()));
  }
  absl::StatusOr<DecodedPartition> decoded =
      DecodePartition(bytes, job, layout, PartitionIndex(file.partition()));
  if (!decoded.ok()) return Prefixed(file.name(), decoded.status());
  return decoded;
}

absl::Status WriteManifest(ObjectStore& folder, const v1::Manifest& manifest) {
  CAPSTAN_RETURN_IF_ERROR(CheckManifest(manifest));
  v1::Manifest complete = manifest;
  complete.set_format(kManifestFormat);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(complete, &text, options).ok()) {
    return absl::InternalError("manifest: cannot be written as JSON");
  }
  text.resize(text.find_last_of('}'));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text += CrcLine(text);
  return folder.PutIfAbsent(kManifestName, text);
}

absl::StatusOr<v1::Manifest> ReadManifest(ObjectStore& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(std::string text, folder.Get(kManifestName));
  const size_t tail = kCrcFront.size() + kCrcDigits + kCrcBack.size();
  const std::string body = text.size() < tail ? "" : text.substr(0, text.size() - tail);
  if (text != body + CrcLine(body)) {
    return absl::DataLossError("MANIFEST.json: the checksum does not agree");
  }
  v1::Manifest manifest;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(body + "\n}\n", &manifest, options).ok()) {
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
