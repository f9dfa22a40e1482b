// One partition as bytes, as in a checkpoint. FORMAT.md is the grammar.
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

// The state of the protocol of a partition that a restore needs (ledger, versions, rounds). Opaque
// here; PartitionMachine numbers the versions of its encoding.
struct MachineState {
  uint32_t version = 0;
  std::string bytes;
};

struct PartitionFileOptions {
  uint32_t partition_count = 0;
  uint64_t timeline = 0;
  MachineState machine;
  // If not empty: the file contains only what has changed since this checkpoint, as recorded by the
  // store.
  std::string parent = {};
  // The partition is sent to another shard: rows are written with their versions, if the table has
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

// Decodes the whole partition or fails. DATA_LOSS, with the place: a byte was changed or is
// missing. FAILED_PRECONDITION: the file is of another partition or model than `job` describes, or
// of a newer format. `layout`: computed from job.tensors and job.partition_count. `arena`, if any,
// must outlive the partition.
absl::StatusOr<DecodedPartition> DecodePartition(std::string_view file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// The same for a file that is read piece by piece. Errors of the feed are passed on.
absl::StatusOr<DecodedPartition> DecodePartition(ByteFeed file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition,
                                                 SlabArena* arena = nullptr);

// Returns true if the file says that it contains everything, and not only changes.
bool IsFullPartition(std::string_view file);

// Applies the file, a delta, to `partition`, which is as in the checkpoint `parent`. After an
// error, which is one of DecodePartition's, the partition is unusable.
absl::Status ApplyDelta(std::string_view file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);
absl::Status ApplyDelta(ByteFeed file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_PARTITION_FILE_H_
