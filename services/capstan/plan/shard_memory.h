// Computes what a shard holds in memory when it may take a given amount: what is surely there, and
// what bursts may take beside it by the limits that the shard keeps to (store/memory_limits). Pure
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

// The memory of the fullest process of its kind.
struct ProcessMemory {
  std::vector<MemoryPart> parts;
  uint64_t bytes() const;
};

// What a job brings to its fullest shard, in bytes.
struct ShardNeeds {
  // What is there while the job runs, or while a checkpoint is taken, however much memory the shard
  // has.
  uint64_t dense = 0;  // Parameters and slots.
  uint64_t rows = 0;
  uint64_t backups = 0;
  uint64_t round_sum = 0;
  uint64_t images = 0;
  uint64_t read = 0;         // By a checkpoint, and waits for the store.
  uint64_t process = 0;      // Without a job.
  uint64_t connections = 0;  // Beside the messages on them.

  // Bursts, of which the shard turns away what is above a limit. `clients` push and pull at the
  // same time, each so many bytes on their way.
  uint64_t clients = 0;
  uint64_t pushed = 0;
  uint64_t pulled = 0;
  uint64_t push_in_pieces = 0;     // The largest push, if no message holds it; 0: none is so large.
  uint64_t waiting = 0;            // Gradients that wait.
  uint64_t copies = 1;             // As many shards hold each gradient that waits.
  bool waiting_is_needed = false;  // A round or an aggregate is never complete without all of them.
};

// Returns what the shard holds at the most, if it may take `memory_bytes`. Where they are enough
// (LeastShardMemory) the parts are no more than that together.
ProcessMemory ShardMemoryIn(const ShardNeeds& needs, uint64_t memory_bytes);

// Returns how many bytes of gradients may wait at the most.
uint64_t WaitingLimitIn(const ShardNeeds& needs, uint64_t memory_bytes);

// Returns the least memory with which the shard stays within it, and rounds and aggregates are
// complete: whole MiB. The shard stays within any larger memory, too.
uint64_t LeastShardMemory(const ShardNeeds& needs);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_SHARD_MEMORY_H_
