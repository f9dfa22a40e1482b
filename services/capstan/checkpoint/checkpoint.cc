#include "capstan/checkpoint/checkpoint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/manifest.h"

namespace capstan {
namespace {

absl::Status Prefixed(absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
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
                                                   const DenseLayout& layout, SlabArena* arena) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, folder.Get(file.name()));
  if (bytes.size() != file.bytes() || Crc32c(bytes) != file.crc32c()) {
    return absl::DataLossError(
        absl::StrFormat("%s: %d bytes with checksum %08x, the manifest names %d and %08x",
                        file.name(), bytes.size(), Crc32c(bytes), file.bytes(), file.crc32c()));
  }
  absl::StatusOr<DecodedPartition> decoded =
      DecodePartition(bytes, job, layout, PartitionIndex(file.partition()), arena);
  if (!decoded.ok()) return Prefixed(file.name(), decoded.status());
  return decoded;
}

absl::Status WriteManifest(ObjectStore& folder, const v1::Manifest& manifest) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, ManifestText(manifest));
  return folder.PutIfAbsent(kManifestName, text).status();
}

absl::StatusOr<v1::Manifest> ReadManifest(ObjectStore& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, folder.Get(kManifestName));
  return ParseManifest(text);
}

}  // namespace capstan
