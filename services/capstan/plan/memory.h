// Computes what the processes of a job hold in memory, and how large its checkpoints are. Pure
// functions. Sizes of rows and blocks come from capstan/store and capstan/optim, limits from
// store/memory_limits and consistency/lanes_at_work.
#ifndef CAPSTAN_PLAN_MEMORY_H_
#define CAPSTAN_PLAN_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/plan/shard_memory.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns how many lanes a round has; 0 if no part of the job is synchronous.
uint64_t LanesOf(const v1::JobSpec& job);
// Returns the most lanes that one trainer holds; 0 if no part of the job is synchronous.
uint64_t LanesOfATrainer(const v1::JobSpec& job, const Scale& scale);

// Returns true if each partition is on two shards: the job has replicas, and enough shards for
// them.
bool IsHeldTwice(const v1::JobSpec& job, int shards);

// Returns how many bytes of gradients may wait on a shard before they can be added or applied, if
// there were no limit: in a round those of all lanes but the one whose turn it is; with backup
// workers those of all lanes; with `aggregate: K` those of K gradients.
uint64_t WaitingBytes(const v1::JobSpec& job, const Share& busiest);

// Returns the size in bytes of the sum of the open round on a shard that holds `rows` rows. The sum
// has at most one row for each key of each lane. 0 if no part of the job is synchronous.
uint64_t RoundSumBytes(const v1::JobSpec& job, const Share& busiest, uint64_t rows);

// Returns for each shard the bytes of the weights and slots of its dense parameters, as placed by
// the first shard map. INVALID_ARGUMENT: the tensors cannot be laid out, or an optimizer's settings
// are impossible.
absl::StatusOr<std::vector<uint64_t>> DenseBytes(const v1::JobSpec& job, int shards);

// Returns the bytes of one row of the widest table on a shard, including its index entry; 0 if
// there is no table.
absl::StatusOr<uint64_t> RowBytes(const v1::JobSpec& job);

struct Sizes {
  uint64_t row_bytes = 0;  // RowBytes.
  ProcessMemory shard;
  ProcessMemory chief;
  ProcessMemory worker;
  uint64_t least_shard_memory = 0;  // LeastShardMemory.
  // See WaitingBytes; the shard's memory may allow only waiting_limit of it.
  uint64_t waiting_bytes = 0;
  uint64_t waiting_limit = 0;
  uint64_t checkpoint_bytes = 0;        // Bytes of a full checkpoint.
  uint64_t shard_checkpoint_bytes = 0;  // Bytes of it that the shard with the most data writes.
  uint64_t checkpoint_objects = 0;      // The most objects of a full checkpoint, with the manifest.
};

// Returns all sizes of a job. INVALID_ARGUMENT: an optimizer or a limit of the job is impossible.
absl::StatusOr<Sizes> SizesOf(const v1::JobSpec& job, const Traffic& traffic,
                              const DataFacts& facts, const Scale& scale, const Rates& rates);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_MEMORY_H_
