// How a shard divides the memory that it may take: of this one number each use has a share, which
// the shard keeps to (ps/shard/memory_budget), and which a plan of a job counts with. Pure
// functions.
#ifndef CAPSTAN_STORE_MEMORY_LIMITS_H_
#define CAPSTAN_STORE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace capstan {

// What a shard holds beside its parameters, and counts.
enum class MemoryUse {
  kWaitingPulls,      // Requests of pulls that wait for slower trainers (ssp).
  kWaitingGradients,  // That wait for the end of their round, or in aggregation queues.
  kPushPieces,        // Pushes that come in pieces, and are not complete.
  kReplies,           // That clients have not taken yet.
  kMoves,             // Partitions on their way here that are not decoded yet.
  kReplicas,          // What has been done to partitions and their backups have not taken yet.
};
inline constexpr size_t kMemoryUses = 6;

// What the transport may take for messages on their way, of all connections together: a quarter of
// the memory, and no more than 1 GiB, which keeps any network busy. With less than 64 MiB the
// messages of a few workers, of up to a MiB each, would have to wait for one another.
constexpr uint64_t MessagesLimit(uint64_t memory_bytes) {
  constexpr uint64_t kLeast = 64 << 20;
  constexpr uint64_t kMost = 1 << 30;
  return std::clamp(memory_bytes / 4, kLeast, kMost);
}

// What a use may take of so much memory, in bytes. The shares are more than the memory together:
// each bounds what a burst or an impolite client can take, and no job has all of them at once.
// Nothing that others wait for depends on room alone: see each use.
constexpr uint64_t MemoryLimit(MemoryUse use, uint64_t memory_bytes) {
  constexpr uint64_t kMostReplies = 512 << 20;
  switch (use) {
    case MemoryUse::kWaitingPulls:
      // They lie in the transport's memory: the rest of it is for pushes, which end the waiting.
      return MessagesLimit(memory_bytes) / 4;
    case MemoryUse::kWaitingGradients:
      // The rest is for the parameters, and for messages on their way. Whose turn it is in its
      // round is let in above the limit too, and a job with other rounds or aggregates that need
      // more is refused before it begins (plan/fit).
      return memory_bytes / 2;
    case MemoryUse::kPushPieces:
      return memory_bytes / 4;  // One always fits.
    case MemoryUse::kReplies:
      // A hundred workers that read have a few of about 1 MiB each under way. The largest message
      // fits where there is no other.
      return std::min(kMostReplies, MessagesLimit(memory_bytes));
    case MemoryUse::kMoves:
      return memory_bytes / 4;  // One partition always fits.
    case MemoryUse::kReplicas:
      // For each backup; a message that several backups wait for counts at each of them.
      return memory_bytes / 8;
  }
  return 0;
}

// What copies as of a round may keep of rows and blocks that change while they are made, where the
// shard holds `parameter_bytes`.
inline uint64_t KeptImagesLimit(uint64_t parameter_bytes) {
  constexpr uint64_t kShare = 10;
  constexpr uint64_t kLeast = 16 << 20;
  return std::max(kLeast, parameter_bytes / kShare);
}

// What a checkpoint has read of a partition and the object store has not taken yet: some seconds of
// what a store takes.
inline constexpr uint64_t kWaitingForStoreLimit = uint64_t{256} << 20;

}  // namespace capstan

#endif  // CAPSTAN_STORE_MEMORY_LIMITS_H_
