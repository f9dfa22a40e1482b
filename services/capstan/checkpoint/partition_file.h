// One partition as bytes, as checkpoints hold it. FORMAT.md is the grammar.
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
// Opaque here; PartitionMachine numbers the versions of its encoding.
struct MachineState {
  uint32_t version = 0;
  std::string bytes;
};

struct PartitionFileOptions {
  uint32_t partition_count = 0;
  uint64_t timeline = 0;
  MachineState machine;
  // If not empty: the file holds only what has changed since this checkpoint, as the store knows
  // it.
  std::string parent = {};
  // The partition goes to another shard: rows are written with their versions, if the table has
  // versions.
  bool moved = false;
};

// Encodes the partition as it is now. PartitionEncoder does the same in pieces. REQUIRES: the store
// is not marked.
std::string EncodePartition(PartitionStore& store, const PartitionFileOptions& options);

struct DecodedPartition {
  std::unique_ptr<PartitionStore> store;
  uint64_t timeline = 0;
  MachineState machine;
};

// Decodes the whole partition or fails. DATA_LOSS, with the place: a byte has changed or is
// missing. FAILED_PRECONDITION: the file is of another partition or model than `job` describes, or
// of a newer format. `layout`: made from job.tensors and job.partition_count. `arena`, if any, must
// outlive the partition.
absl::StatusOr<DecodedPartition> DecodePartition(std::string_view file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// The same for a file that comes piece by piece. Errors of the feed are passed on.
absl::StatusOr<DecodedPartition> DecodePartition(ByteFeed file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// Returns whether the file says that it holds everything, and not only changes.
bool IsFullPartition(std::string_view file);

// Applies the file, a delta, to `partition`, which is as in the checkpoint `parent`. On an error,
// one of DecodePartition's, the partition is of no further use.
absl::Status ApplyDelta(std::string_view file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);
absl::Status ApplyDelta(ByteFeed file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_PARTITION_FILE_H_
