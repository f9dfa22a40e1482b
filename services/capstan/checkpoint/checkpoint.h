// A checkpoint: partition files in one folder of an object store, and the manifest that makes them
// one, written last. Readers treat a folder without MANIFEST.json as no checkpoint.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

inline constexpr std::string_view kManifestName = "MANIFEST.json";

// "partition-0007.capstan": the object with this partition's file, and maybe others behind it (see
// PartitionPack).
std::string PartitionFileName(PartitionIndex partition);

// Bytes of the object that the file is in.
uint64_t ObjectBytes(const v1::SavedFile& file);
// DATA_LOSS if that object has another length.
absl::Status CheckObjectBytes(const v1::SavedFile& file, uint64_t bytes);

// Reads what the manifest's entry names, in pieces however long it is, and refuses it with
// DATA_LOSS if its size, that of its object or its checksum is another. See DecodePartition,
// RangeReader.
absl::StatusOr<DecodedPartition> ReadPartitionFile(ObjectStore& folder, const v1::SavedFile& file,
                                                   const v1::JobSpec& job,
                                                   const DenseLayout& layout,
                                                   SlabArena* arena = nullptr);

// Reads the file of a delta likewise, and applies it to `partition`: see ApplyDelta.
absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition);

// The folder of another checkpoint of the same job.
std::string CheckpointBeside(const std::string& uri, const std::string& id);

// The commit of the checkpoint. INVALID_ARGUMENT if a partition is missing or named twice;
// ALREADY_EXISTS if the folder has a manifest.
absl::Status WriteManifest(ObjectStore& folder, const v1::Manifest& manifest);

// NOT_FOUND if the folder holds no checkpoint, DATA_LOSS if a byte of the manifest has changed,
// FAILED_PRECONDITION if a newer Capstan has written it.
absl::StatusOr<v1::Manifest> ReadManifest(ObjectStore& folder);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_H_
