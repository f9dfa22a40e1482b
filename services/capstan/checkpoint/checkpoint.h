// A checkpoint: partition files in one folder of an object store, and the manifest that makes them
// a checkpoint, written last. Readers treat a folder without MANIFEST.json as no checkpoint.
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

// Returns "partition-0007.capstan": the name of the object that holds this partition's file, and
// perhaps the files of others after it (see PartitionPack).
std::string PartitionFileName(PartitionIndex partition);

// Returns the bytes of the object that the file is in.
uint64_t ObjectBytes(const v1::SavedFile& file);
// DATA_LOSS: `bytes` is not the length of that object.
absl::Status CheckObjectBytes(const v1::SavedFile& file, uint64_t bytes);

// Reads the file that an entry of the manifest names, in pieces (RangeReader). DATA_LOSS: its size,
// its object's size or its checksum is another. Other errors: see DecodePartition.
absl::StatusOr<DecodedPartition> ReadPartitionFile(ObjectStore& folder, const v1::SavedFile& file,
                                                   const v1::JobSpec& job,
                                                   const DenseLayout& layout,
                                                   SlabArena* arena = nullptr);

// Reads the file of a delta in the same way, and applies it to `partition`: see ApplyDelta.
absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition);

// Returns the folder of checkpoint `id` of the same job.
std::string CheckpointBeside(const std::string& uri, const std::string& id);

// Commits the checkpoint. INVALID_ARGUMENT: a partition is missing or named twice. ALREADY_EXISTS:
// the folder has a manifest.
absl::Status WriteManifest(ObjectStore& folder, const v1::Manifest& manifest);

// NOT_FOUND: the folder holds no checkpoint. DATA_LOSS: a byte of the manifest has changed.
// FAILED_PRECONDITION: a newer Capstan has written it.
absl::StatusOr<v1::Manifest> ReadManifest(ObjectStore& folder);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_H_
