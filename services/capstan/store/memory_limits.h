// How a shard divides the memory that it may use. Each use has a share of it. The shard enforces
// the shares (ps/partition/memory_budget), and the plan of a job is computed with them. Pure
// functions.
#ifndef CAPSTAN_STORE_MEMORY_LIMITS_H_
#define CAPSTAN_STORE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace capstan {

// The uses of a shard's memory that are counted, beside its parameters.
enum class MemoryUse {
  kWaitingPulls,  // Requests of pulls that wait for slower trainers (ssp).
  // Gradients that wait for the end of their round, in aggregation queues, or at a backup.
  kWaitingGradients,
  kPushPieces,  // Incomplete pushes that arrive in pieces.
  kReplies,     // Replies that clients have not received yet.
  kMoves,       // Partitions that are moving to this shard and are not decoded yet.
  kReplicas,    // Operations that the backups of partitions have not confirmed yet.
};
inline constexpr size_t kMemoryUses = 6;

// Returns how many bytes the messages on all connections together may take: a quarter of the
// memory, and at most 1 GiB, which suffices for any network. It is at least 64 MiB: with less, the
// messages of a few workers, of up to a MiB each, would have to wait for one another.
constexpr uint64_t MessagesLimit(uint64_t memory_bytes) {
  constexpr uint64_t kLeast = 64 << 20;
  constexpr uint64_t kMost = 1 << 30;
  return std::clamp(memory_bytes / 4, kLeast, kMost);
}

// Returns how many bytes of `memory_bytes` `use` may take. The sum of the shares is more than the
// memory: each limits what a burst or a greedy client can take, and no job needs all of them at
// once. Where many clients do take several at once, gradients that wait for their turn leave memory
// for the others (WaitingForTurnLimit). No limit blocks forever what others wait for; see each use.
constexpr uint64_t MemoryLimit(MemoryUse use, uint64_t memory_bytes) {
  constexpr uint64_t kMostReplies = 512 << 20;
  switch (use) {
    case MemoryUse::kWaitingPulls:
      // These requests are in the transport's memory, the rest of which is for pushes, which end
      // the wait.
      return MessagesLimit(memory_bytes) / 4;
    case MemoryUse::kWaitingGradients:
      // The rest is for the parameters and for messages. The gradient whose turn it is in its round
      // is accepted even above the limit, which WaitingForTurnLimit lowers in exchange. Otherwise,
      // a job whose rounds or aggregates need more is refused before it begins (plan/fit).
      return memory_bytes / 2;
    case MemoryUse::kPushPieces:
      return memory_bytes / 4;  // One push always fits.
    case MemoryUse::kReplies:
      // Enough for a hundred workers that pull, with a few replies of about 1 MiB each under way.
      // The largest message is accepted if there is no other.
      return std::min(kMostReplies, MessagesLimit(memory_bytes));
    case MemoryUse::kMoves:
      return memory_bytes / 4;  // One partition always fits.
    case MemoryUse::kReplicas:
      // For each backup: a message that waits for several backups counts for each of them.
      return memory_bytes / 8;
  }
  return 0;
}

// The memory of a shard's process without a job (plan/recorded_rates.txt).
inline constexpr uint64_t kShardProcessBytes = uint64_t{33} << 20;

// Returns how many bytes of gradients may wait for their turn, if the gradient whose turn it is is
// always accepted: `memory_bytes` minus `held_bytes`, which cannot be refused, and minus all that
// messages and replies may take. At least an eighth of the memory, as lanes would otherwise wait
// for one another all the time, and at most MemoryLimit. `copies`: how many shards hold each
// gradient; the bytes are divided by it, because a shard has to accept what others have accepted.
constexpr uint64_t WaitingForTurnLimit(uint64_t memory_bytes, uint64_t held_bytes,
                                       uint64_t copies) {
  const uint64_t taken =
      held_bytes + MessagesLimit(memory_bytes) + MemoryLimit(MemoryUse::kReplies, memory_bytes);
  const uint64_t left = memory_bytes - std::min(memory_bytes, taken);
  return std::clamp(left / copies, memory_bytes / 8 / copies,
                    MemoryLimit(MemoryUse::kWaitingGradients, memory_bytes));
}

// Returns how many bytes of the former state of rows and blocks may be kept because they changed
// while a copy as of a round is made. `parameter_bytes`: the memory of the shard's parameters.
inline uint64_t KeptImagesLimit(uint64_t parameter_bytes) {
  constexpr uint64_t kShare = 10;
  constexpr uint64_t kLeast = 16 << 20;
  return std::max(kLeast, parameter_bytes / kShare);
}

// Returns the most bytes of such images that a checkpoint in a synchronous job keeps.
inline uint64_t MostImages(uint64_t parameter_bytes) {
  return std::min(parameter_bytes, KeptImagesLimit(parameter_bytes));
}

// How many bytes a checkpoint may have read of partitions that the object store has not accepted
// yet: what a store accepts in some seconds.
inline constexpr uint64_t kWaitingForStoreLimit = uint64_t{256} << 20;

}  // namespace capstan

#endif  // CAPSTAN_STORE_MEMORY_LIMITS_H_
