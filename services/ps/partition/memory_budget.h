// The budget for a shard's memory beside its parameters. Each use has a share of the memory that
// the shard may take, and no other use can take that share.
#ifndef CAPSTAN_PS_PARTITION_MEMORY_BUDGET_H_
#define CAPSTAN_PS_PARTITION_MEMORY_BUDGET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "capstan/store/memory_limits.h"
#include "ps/partition/byte_budget.h"

namespace capstan::ps {

// Counts bytes for one use until it is destroyed. Null counts no bytes.
using Reservation = std::unique_ptr<ByteBudget::Hold>;

// Returns the use as a value of the label `use` in the shard's metrics, such as "waiting_pulls".
absl::string_view LabelOf(MemoryUse use);
// Returns what the use holds, in words, such as "pulls that wait for slower trainers".
absl::string_view WordsOf(MemoryUse use);

// Waiting pulls and operations for backups are counted by ClockShell and ReplicaStreams, which get
// their limits from here; all other uses are counted here.
//
// *Thread-safe*.
class MemoryBudget {
 public:
  MemoryBudget() = default;  // Nothing is limited.
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // The shard may take `bytes`: from now on each use is limited to its share of them
  // (capstan/store/memory_limits). What is held already stays.
  void SetMemory(uint64_t bytes);

  // Lowers the limit of gradients that wait for their turn to what remains of the memory after
  // `held_bytes` of parameters and after what other uses hold now (WaitingForTurnLimit). Does
  // nothing before SetMemory.
  void LimitWaiting(uint64_t held_bytes, uint64_t copies);

  // Counts `bytes` for the use. RESOURCE_EXHAUSTED, with a hint when to retry: they would exceed
  // the use's limit. The message has the use, what it holds, and its limit.
  absl::StatusOr<Reservation> Reserve(MemoryUse use, size_t bytes);
  // Counts `bytes` even if they exceed the limit: for memory that others are waiting for.
  Reservation ReserveAnyway(MemoryUse use, size_t bytes);
  // How often Reserve has refused the use.
  uint64_t refused(MemoryUse use) const {
    return refused_[static_cast<size_t>(use)].load(std::memory_order_relaxed);
  }

  // The account of one use.
  ByteBudget& of(MemoryUse use) { return accounts_[static_cast<size_t>(use)]; }
  const ByteBudget& of(MemoryUse use) const { return accounts_[static_cast<size_t>(use)]; }

 private:
  std::atomic<uint64_t> memory_{0};  // 0: not known.
  std::array<ByteBudget, kMemoryUses> accounts_;
  std::array<std::atomic<uint64_t>, kMemoryUses> refused_{};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_MEMORY_BUDGET_H_
