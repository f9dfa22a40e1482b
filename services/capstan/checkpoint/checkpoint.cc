#include "capstan/checkpoint/checkpoint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/manifest.h"
#include "capstan/objectstore/range_reader.h"

namespace capstan {
namespace {

// Returns where a partition's file is, for people.
std::string Place(const v1::SavedFile& file) {
  if (file.object_bytes() == 0) return file.name();
  return absl::StrFormat("%s, bytes [%d, +%d) of partition %d", file.name(), file.offset(),
                         file.bytes(), file.partition());
}

absl::Status Placed(const v1::SavedFile& file, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(Place(file), ": ", status.message()));
}

// Reads a saved file piece by piece, and verifies it when all of it was read. Thread-compatible.
class SavedFileFeed {
 public:
  // `folder` and `file` must outlive this object.
  SavedFileFeed(ObjectStore& folder, const v1::SavedFile& file)
      : file_(file), reader_(folder, file.name(), file.offset(), file.bytes()) {}

  ByteFeed Feed() {
    return {.next = [this] { return Next(); }, .bytes = file_.bytes()};
  }

  // Returns OK if the file's bytes are those that were saved, and decoding them succeeded according
  // to `decoded`. If the bytes differ, the error says so, whatever `decoded` is.
  absl::Status Verify(const absl::Status& decoded);

 private:
  absl::StatusOr<std::string> Next();

  const v1::SavedFile& file_;
  RangeReader reader_;
  uint32_t crc_ = 0;
  absl::Status failure_;  // The store's error, if it failed.
};

absl::StatusOr<std::string> SavedFileFeed::Next() {
  absl::StatusOr<std::string> piece = reader_.Next();
  if (absl::IsOutOfRange(piece.status())) {
    piece = absl::DataLossError(absl::StrCat(file_.name(), " is shorter than the manifest says"));
  }
  failure_ = piece.status();
  if (piece.ok() && !piece->empty()) {
    failure_ = CheckObjectBytes(file_, reader_.object_bytes());
    crc_ = Crc32c(*piece, crc_);
  }
  CAPSTAN_RETURN_IF_ERROR(failure_);
  return piece;
}

absl::Status SavedFileFeed::Verify(const absl::Status& decoded) {
  CAPSTAN_RETURN_IF_ERROR(failure_);
  for (;;) {  // Reads to the end even if decoding stopped before.
    CAPSTAN_ASSIGN_OR_RETURN(const std::string piece, Next());
    if (piece.empty()) break;
  }
  if (crc_ == file_.crc32c()) return Placed(file_, decoded);
  const absl::string_view where =
      decoded.ok() ? "its blocks are another file's" : decoded.message();
  return absl::DataLossError(
      absl::StrFormat("%s: %d bytes with checksum %08x, the manifest names %08x; %s", Place(file_),
                      file_.bytes(), crc_, file_.crc32c(), where));
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
  SavedFileFeed saved(folder, file);
  absl::StatusOr<DecodedPartition> decoded =
      DecodePartition(saved.Feed(), job, layout, PartitionIndex(file.partition()), arena);
  CAPSTAN_RETURN_IF_ERROR(saved.Verify(decoded.status()));
  return decoded;
}

absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition) {
  SavedFileFeed saved(folder, file);
  return saved.Verify(ApplyDelta(saved.Feed(), job, parent, partition));
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
