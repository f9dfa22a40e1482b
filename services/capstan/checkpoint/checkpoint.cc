#include "capstan/checkpoint/checkpoint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/manifest.h"

namespace capstan {
namespace {

absl::Status Prefixed(absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

// Where the damage begins, for people.
std::string FirstDamage(std::string_view bytes) {
  absl::StatusOr<BlockReader> reader = BlockReader::Open(bytes);
  if (!reader.ok()) return std::string(reader.status().message());
  for (;;) {
    const absl::StatusOr<BlockView> block = reader->Next();
    if (!block.ok()) return std::string(block.status().message());
    if (block->kind == BlockKind::kEnd) return "its blocks are another file's";
  }
}

absl::StatusOr<std::string> ReadSavedFile(ObjectStore& folder, const v1::SavedFile& file) {
  CAPSTAN_ASSIGN_OR_RETURN(std::string bytes, folder.Get(file.name()));
  const uint32_t crc = Crc32c(bytes);
  if (bytes.size() == file.bytes() && crc == file.crc32c()) return bytes;
  return absl::DataLossError(absl::StrFormat(
      "%s: %d bytes with checksum %08x, the manifest names %d and %08x; %s", file.name(),
      bytes.size(), crc, file.bytes(), file.crc32c(), FirstDamage(bytes)));
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
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, ReadSavedFile(folder, file));
  absl::StatusOr<DecodedPartition> decoded =
      DecodePartition(bytes, job, layout, PartitionIndex(file.partition()), arena);
  if (!decoded.ok()) return Prefixed(file.name(), decoded.status());
  return decoded;
}

absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, ReadSavedFile(folder, file));
  return Prefixed(file.name(), ApplyDelta(bytes, job, parent, partition));
}

std::string CheckpointBeside(const std::string& uri, const std::string& id) {
  std::string_view folder = uri;
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder.substr(0, folder.rfind('/') + 1)) + id;
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
