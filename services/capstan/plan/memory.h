// What the processes of a job hold in memory, and what its checkpoints take. Pure functions: rows
// and blocks by capstan/store and capstan/optim, limits by store/memory_limits and
// consistency/lanes_at_work.
#ifndef CAPSTAN_PLAN_MEMORY_H_
#define CAPSTAN_PLAN_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct MemoryPart {
  std::string what;  // "rows"
  uint64_t bytes = 0;
};

// The memory of the fullest process of its kind.
struct ProcessMemory {
  std::vector<MemoryPart> parts;
  uint64_t bytes() const;
};

// Lanes of a round; 0: nothing of the job is synchronous.
uint64_t LanesOf(const v1::JobSpec& job);
// The most lanes of a round that one trainer holds; 0 as above.
uint64_t LanesOfATrainer(const v1::JobSpec& job, const Scale& scale);

// Each partition is on two shards: there are replicas, and shards that can hold them.
bool IsHeldTwice(const v1::JobSpec& job, int shards);

// Bytes of gradients that may wait on a shard before they can be added or applied, were there no
// limit: of a round all lanes but the one whose turn it is; with backup workers all; with
// `aggregate: K` so many.
uint64_t WaitingBytes(const v1::JobSpec& job, const Share& busiest);

// The sum of the open round of a shard that holds so many rows: a row of it at most for each key of
// each lane. 0: nothing of the job is synchronous.
uint64_t RoundSumBytes(const v1::JobSpec& job, const Share& busiest, uint64_t rows);

// Weights and slots of the dense parameters on each shard, as the first map has them.
// INVALID_ARGUMENT: the tensors cannot be laid out, or an optimizer is impossible.
absl::StatusOr<std::vector<uint64_t>> DenseBytes(const v1::JobSpec& job, int shards);

// What one row of the widest table takes on a shard, with its place in the index; 0: there is no
// table.
absl::StatusOr<uint64_t> RowBytes(const v1::JobSpec& job);

struct Sizes {
  uint64_t row_bytes = 0;  // RowBytes.
  ProcessMemory shard;
  ProcessMemory chief;
  ProcessMemory worker;
  uint64_t waiting_bytes = 0;     // WaitingBytes, of which the shard's memory limit allows a part.
  uint64_t checkpoint_bytes = 0;  // Bytes of a full checkpoint.
  uint64_t shard_checkpoint_bytes = 0;  // That the fullest shard writes of it.
  uint64_t checkpoint_objects = 0;      // At the most, with the manifest.
};

// INVALID_ARGUMENT: an optimizer or a limit of the job is impossible.
absl::StatusOr<Sizes> SizesOf(const v1::JobSpec& job, const Traffic& traffic,
                              const DataFacts& facts, const Scale& scale, const Rates& rates);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_MEMORY_H_
