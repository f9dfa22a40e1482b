// One partition as bytes: what a checkpoint holds of it. FORMAT.md is the grammar.
#ifndef CAPSTAN_CHECKPOINT_PARTITION_FILE_H_
#define CAPSTAN_CHECKPOINT_PARTITION_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What the protocol machine of a partition must know after a restore (ledger, versions, rounds).
// Opaque here; its owner numbers the versions of its encoding.
struct MachineState {
  uint32_t version = 0;
  std::string bytes;
};

struct PartitionFileOptions {
  uint32_t partition_count = 0;
  uint64_t timeline = 0;
  MachineState machine;
  // Only what has changed since this checkpoint, as the store knows it; empty: everything.
  std::string parent = {};
  // It goes to another shard: its rows have their versions, where they are counted.
  bool moved = false;
};

// The partition as it is. PartitionEncoder does the same in pieces. REQUIRES: it is not marked.
std::string EncodePartition(PartitionStore& store, const PartitionFileOptions& options);

struct DecodedPartition {
  std::unique_ptr<PartitionStore> store;
  uint64_t timeline = 0;
  MachineState machine;
};

// All of the partition or nothing: DATA_LOSS, with the place, if a byte has changed or is missing;
// FAILED_PRECONDITION if the file is of another partition or model than `job` describes, or of a
// newer format. `layout` is that of job.tensors over job.partition_count partitions; `arena`, if
// any, must outlive the partition.
absl::StatusOr<DecodedPartition> DecodePartition(std::string_view file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// The same of a file that comes piece by piece, whose errors are passed on.
absl::StatusOr<DecodedPartition> DecodePartition(ByteFeed file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// Whether the file says that it holds everything, not only what has changed.
bool IsFullPartition(std::string_view file);

// Makes of the partition, which is that of the checkpoint `parent`, what the file holds. On an
// error, which is one of DecodePartition's, the partition is of no further use.
absl::Status ApplyDelta(std::string_view file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);
absl::Status ApplyDelta(ByteFeed file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_PARTITION_FILE_H_
