#include "capstan/plan/shard_memory.h"

#include <algorithm>
#include <numeric>

#include "capstan/store/memory_limits.h"

namespace capstan {
namespace {

// All limits are multiples of this, so that a shard that stays within a multiple of it also stays
// within all larger memories.
constexpr uint64_t kGrain = uint64_t{1} << 20;
constexpr uint64_t kMost = uint64_t{1} << 60;

uint64_t PieceBytes(const ShardNeeds& needs, uint64_t memory) {
  const uint64_t limit = MemoryLimit(MemoryUse::kPushPieces, memory);
  // With backups one gradient is kept until its backup has it, and another one, from an owner that
  // this shard backs up, is always accepted.
  const uint64_t of_backups = needs.copies > 1 ? 2 * needs.push_in_pieces : 0;
  return of_backups +
         std::min(needs.push_in_pieces * needs.clients, std::max(needs.push_in_pieces, limit));
}

uint64_t SurelyHeld(const ShardNeeds& needs) {
  return needs.dense + needs.rows + needs.backups + needs.round_sum + needs.images + needs.read +
         needs.process + needs.connections;
}

uint64_t WaitingBytesIn(const ShardNeeds& needs, uint64_t memory) {
  const uint64_t all = needs.copies * needs.waiting;
  if (needs.waiting_is_needed) return all;
  return std::min(all, needs.copies * WaitingLimitIn(needs, memory));
}

bool Fits(const ShardNeeds& needs, uint64_t memory) {
  if (needs.waiting_is_needed && needs.copies * needs.waiting > WaitingLimitIn(needs, memory)) {
    return false;
  }
  return ShardMemoryIn(needs, memory).bytes() <= memory;
}

}  // namespace

uint64_t ProcessMemory::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0},
                         [](uint64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

uint64_t WaitingLimitIn(const ShardNeeds& needs, uint64_t memory_bytes) {
  if (needs.waiting_is_needed) return MemoryLimit(MemoryUse::kWaitingGradients, memory_bytes);
  return WaitingForTurnLimit(memory_bytes, SurelyHeld(needs) + PieceBytes(needs, memory_bytes),
                             needs.copies);
}

ProcessMemory ShardMemoryIn(const ShardNeeds& needs, uint64_t memory_bytes) {
  ProcessMemory memory;
  memory.parts = {
      {"dense parameters and slots", needs.dense},
      {"rows", needs.rows},
      {"backups of other shards", needs.backups},
      {"sum of the round", needs.round_sum},
      {"gradients that wait, at most", WaitingBytesIn(needs, memory_bytes)},
      {"pushes on their way, at most",
       std::min(needs.pushed * needs.clients, MessagesLimit(memory_bytes))},
      {"replies to pulls, at most",
       std::min(needs.pulled * needs.clients, MemoryLimit(MemoryUse::kReplies, memory_bytes))},
      {"pushes that come in pieces, at most", PieceBytes(needs, memory_bytes)},
      {"images while a checkpoint is taken, at most", needs.images},
      {"what is read and waits for the store, at most", needs.read},
      {"connections", needs.connections},
      {"the process itself", needs.process}};
  std::erase_if(memory.parts, [](const MemoryPart& part) { return part.bytes == 0; });
  return memory;
}

uint64_t LeastShardMemory(const ShardNeeds& needs) {
  uint64_t enough = kGrain;
  while (enough < kMost && !Fits(needs, enough)) enough *= 2;
  uint64_t lacking = 0;
  while (enough - lacking > kGrain) {
    const uint64_t middle = lacking + (enough - lacking) / kGrain / 2 * kGrain;
    (Fits(needs, middle) ? enough : lacking) = middle;
  }
  return enough;
}

}  // namespace capstan
