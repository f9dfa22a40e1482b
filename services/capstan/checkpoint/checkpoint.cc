#include "capstan/checkpoint/checkpoint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/manifest.h"

namespace capstan {
namespace {

// Where a partition's file is, for people.
std::string Place(const v1::SavedFile& file) {
  if (file.object_bytes() == 0) return file.name();
  return absl::StrFormat("%s, bytes [%d, +%d) of partition %d", file.name(), file.offset(),
                         file.bytes(), file.partition());
}

absl::Status Placed(const v1::SavedFile& file, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(Place(file), ": ", status.message()));
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
  absl::StatusOr<Object> object =
      folder.Read(file.name(), {.offset = file.offset(), .length = file.bytes()});
  if (absl::IsOutOfRange(object.status())) {
    return absl::DataLossError(absl::StrCat(file.name(), " is shorter than the manifest says"));
  }
  CAPSTAN_RETURN_IF_ERROR(object.status());
  CAPSTAN_RETURN_IF_ERROR(CheckObjectBytes(file, object->size));
  const uint32_t crc = Crc32c(object->bytes);
  if (crc == file.crc32c()) return std::move(object->bytes);
  return absl::DataLossError(
      absl::StrFormat("%s: %d bytes with checksum %08x, the manifest names %08x; %s", Place(file),
                      object->bytes.size(), crc, file.crc32c(), FirstDamage(object->bytes)));
}

}  // namespace

std::string PartitionFileName(PartitionIndex partition) {
  return absl::StrFormat("partition-%04d.capstan", Raw(partition));
}

uint64_t ObjectBytes(const v1::SavedFile& file) {
  return file.object_bytes() == 0 ? file.bytes() : file.object_bytes();
}

absl::Status CheckObjectBytes(const v1::SavedFile& file, uint64_t bytes) {
  if (bytes == ObjectBytes(file)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file.name(), " has ", bytes, " bytes, the manifest names ", ObjectBytes(file)));
}

absl::StatusOr<DecodedPartition> ReadPartitionFile(ObjectStore& folder, const v1::SavedFile& file,
                                                   const v1::JobSpec& job,
                                                   const DenseLayout& layout, SlabArena* arena) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, ReadSavedFile(folder, file));
  absl::StatusOr<DecodedPartition> decoded =
      DecodePartition(bytes, job, layout, PartitionIndex(file.partition()), arena);
  if (!decoded.ok()) return Placed(file, decoded.status());
  return decoded;
}

absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string bytes, ReadSavedFile(folder, file));
  return Placed(file, ApplyDelta(bytes, job, parent, partition));
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
