// Computes the memory of a shard that may use a given amount: what is certainly in use, and what
// bursts may take in addition, according to the limits of the shard (store/memory_limits). Pure
// functions.
#ifndef CAPSTAN_PLAN_SHARD_MEMORY_H_
#define CAPSTAN_PLAN_SHARD_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace capstan {

struct MemoryPart {
  std::string what;  // "rows"
  uint64_t bytes = 0;
};

// The memory of the process of its kind that uses most.
struct ProcessMemory {
  std::vector<MemoryPart> parts;
  uint64_t bytes() const;
};

// What a job requires of the shard that uses most memory, in bytes.
struct ShardNeeds {
  // What is in use while the job runs, or while a checkpoint is taken, however much memory the
  // shard has.
  uint64_t dense = 0;  // Parameters and slots.
  uint64_t rows = 0;
  uint64_t backups = 0;
  uint64_t round_sum = 0;
  uint64_t images = 0;
  uint64_t read = 0;         // Read by a checkpoint and waiting for the store.
  uint64_t process = 0;      // The process without a job.
  uint64_t connections = 0;  // The connections without the messages on them.

  // Bursts, which the shard refuses above a limit. `clients` push and pull at the same time;
  // `pushed` and `pulled` are what each has under way.
  uint64_t clients = 0;
  uint64_t pushed = 0;
  uint64_t pulled = 0;
  uint64_t push_in_pieces = 0;     // The largest push that exceeds a message; 0: none is so large.
  uint64_t waiting = 0;            // Gradients that wait.
  uint64_t copies = 1;             // How many shards hold each waiting gradient.
  bool waiting_is_needed = false;  // A round or an aggregate is never complete without all of them.
};

// Returns the most that the shard holds if it may use `memory_bytes`. If these are enough
// (LeastShardMemory), the sum of the parts is at most that.
ProcessMemory ShardMemoryIn(const ShardNeeds& needs, uint64_t memory_bytes);

// Returns the most bytes of gradients that may wait.
uint64_t WaitingLimitIn(const ShardNeeds& needs, uint64_t memory_bytes);

// Returns the least memory, in whole MiB, within which the shard stays and rounds and aggregates
// can be completed. The shard also stays within any larger memory.
uint64_t LeastShardMemory(const ShardNeeds& needs);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_SHARD_MEMORY_H_
