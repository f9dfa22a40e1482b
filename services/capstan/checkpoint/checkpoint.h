// A checkpoint: partition files in one folder of an object store, and a manifest, which is written
// last. A folder without MANIFEST.json is not a checkpoint.
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

// Returns the name of the object with this partition's file, "partition-0007.capstan". The object
// may also contain the files of other partitions after it (see PartitionPack).
std::string PartitionFileName(PartitionIndex partition);

// Returns the size of the object that contains the file.
uint64_t ObjectBytes(const v1::SavedFile& file);
// DATA_LOSS: `bytes` is not the length of that object.
absl::Status CheckObjectBytes(const v1::SavedFile& file, uint64_t bytes);

// Reads the file that an entry of the manifest names, in pieces (RangeReader). DATA_LOSS: its size,
// its object's size or its checksum differs. Other errors: see DecodePartition.
absl::StatusOr<DecodedPartition> ReadPartitionFile(ObjectStore& folder, const v1::SavedFile& file,
                                                   const v1::JobSpec& job,
                                                   const DenseLayout& layout,
                                                   SlabArena* arena = nullptr);

// Reads the file of a delta in the same way, and applies it to `partition`: see ApplyDelta.
absl::Status ReadDeltaFile(ObjectStore& folder, const v1::SavedFile& file, const v1::JobSpec& job,
                           const std::string& parent, DecodedPartition& partition);

// Returns the folder of the checkpoint `id` of the same job as that at `uri`.
std::string CheckpointBeside(const std::string& uri, const std::string& id);

// Commits the checkpoint. INVALID_ARGUMENT: a partition is missing or named twice. ALREADY_EXISTS:
// the folder has a manifest.
absl::Status WriteManifest(ObjectStore& folder, const v1::Manifest& manifest);

// NOT_FOUND: the folder contains no checkpoint. DATA_LOSS: the manifest is damaged.
// FAILED_PRECONDITION: a newer version has written it.
absl::StatusOr<v1::Manifest> ReadManifest(ObjectStore& folder);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_H_
