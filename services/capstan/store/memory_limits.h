// How a shard divides the memory that it may take. Each use has a share of this one number. The
// shard keeps to the shares (ps/partition/memory_budget), and the plan of a job counts with them.
// Pure functions.
#ifndef CAPSTAN_STORE_MEMORY_LIMITS_H_
#define CAPSTAN_STORE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace capstan {

// What a shard holds, and counts, beside its parameters.
enum class MemoryUse {
  kWaitingPulls,  // Requests of pulls that wait for slower trainers (ssp).
  // Gradients that wait for the end of their round, in aggregation queues, or at a backup.
  kWaitingGradients,
  kPushPieces,  // Pushes that come in pieces, and are not complete.
  kReplies,     // Replies that clients have not taken yet.
  kMoves,       // Partitions on their way here that are not decoded yet.
  kReplicas,    // Changes of partitions that their backups have not taken yet.
};
inline constexpr size_t kMemoryUses = 6;

// Returns how many bytes the messages on all connections together may take: a quarter of the
// memory, and no more than 1 GiB, which keeps any network busy. With less than 64 MiB the messages
// of a few workers, of up to a MiB each, would have to wait for one another.
constexpr uint64_t MessagesLimit(uint64_t memory_bytes) {
  constexpr uint64_t kLeast = 64 << 20;
  constexpr uint64_t kMost = 1 << 30;
  return std::clamp(memory_bytes / 4, kLeast, kMost);
}

// Returns how many bytes `use` may take out of `memory_bytes`. The shares add up to more than the
// memory: each bounds what a burst or a greedy client can take, and no job needs all of them at
// once. Of those that many clients do take at once, gradients that wait for their turn leave room
// for the others (WaitingForTurnLimit). A limit never blocks for good what others wait for; see
// each use.
constexpr uint64_t MemoryLimit(MemoryUse use, uint64_t memory_bytes) {
  constexpr uint64_t kMostReplies = 512 << 20;
  switch (use) {
    case MemoryUse::kWaitingPulls:
      // These requests lie in the transport's memory, whose rest is for pushes, which end the
      // waiting.
      return MessagesLimit(memory_bytes) / 4;
    case MemoryUse::kWaitingGradients:
      // The rest is for the parameters and for messages. The gradient whose turn it is in its round
      // is let in even above the limit, which WaitingForTurnLimit lowers then. A job whose rounds
      // or aggregates need more otherwise is refused before it begins (plan/fit).
      return memory_bytes / 2;
    case MemoryUse::kPushPieces:
      return memory_bytes / 4;  // One push always fits.
    case MemoryUse::kReplies:
      // Enough for a hundred workers that pull, with a few replies of about 1 MiB each under way.
      // The largest message fits if there is no other.
      return std::min(kMostReplies, MessagesLimit(memory_bytes));
    case MemoryUse::kMoves:
      return memory_bytes / 4;  // One partition always fits.
    case MemoryUse::kReplicas:
      // For each backup: a message that waits for several backups counts for each of them.
      return memory_bytes / 8;
  }
  return 0;
}

// Bytes that the process of a shard takes without a job (plan/recorded_rates.txt).
inline constexpr uint64_t kShardProcessBytes = uint64_t{33} << 20;

// Returns how many bytes of gradients may wait for their turn, where the gradient whose turn it is
// is always let in: what is left of `memory_bytes` beside `held_bytes`, which nobody can turn away,
// and all that messages and replies may take. Never less than an eighth of the memory, as lanes
// would wait for one another all the time, and never more than MemoryLimit. `copies`: as many
// shards hold each gradient, and a shard divides the bytes as it has to take what others let in.
constexpr uint64_t WaitingForTurnLimit(uint64_t memory_bytes, uint64_t held_bytes,
                                       uint64_t copies) {
  const uint64_t taken =
      held_bytes + MessagesLimit(memory_bytes) + MemoryLimit(MemoryUse::kReplies, memory_bytes);
  const uint64_t left = memory_bytes - std::min(memory_bytes, taken);
  return std::clamp(left / copies, memory_bytes / 8 / copies,
                    MemoryLimit(MemoryUse::kWaitingGradients, memory_bytes));
}

// Returns how many bytes of rows and blocks may be kept because they changed while a copy as of a
// round is made. `parameter_bytes`: what the shard's parameters take.
inline uint64_t KeptImagesLimit(uint64_t parameter_bytes) {
  constexpr uint64_t kShare = 10;
  constexpr uint64_t kLeast = 16 << 20;
  return std::max(kLeast, parameter_bytes / kShare);
}

// Returns how many bytes of images a checkpoint keeps in rounds, at the most.
inline uint64_t MostImages(uint64_t parameter_bytes) {
  return std::min(parameter_bytes, KeptImagesLimit(parameter_bytes));
}

// How much a checkpoint may have read of partitions that the object store has not taken yet, in
// bytes: what a store takes in some seconds.
inline constexpr uint64_t kWaitingForStoreLimit = uint64_t{256} << 20;

}  // namespace capstan

#endif  // CAPSTAN_STORE_MEMORY_LIMITS_H_
