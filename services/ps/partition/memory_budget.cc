#include "ps/partition/memory_budget.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {
namespace {

struct UseText {
  absl::string_view label;
  absl::string_view what;
  absl::string_view advice = "";
};

// By MemoryUse.
constexpr std::array<UseText, kMemoryUses> kTexts = {{
    {"waiting_pulls", "pulls that wait for slower trainers"},
    {"waiting_gradients", "gradients that wait for others",
     ": with backup workers a round needs room for one gradient of each lane, and aggregation for "
     "as many as it takes (fewer of them, more shards, or more memory)"},
    {"push_pieces", "pushes that come in pieces"},
    {"replies", "replies that clients have not taken"},
    {"moves", "partitions on their way here"},
    {"replicas", "operations that backups have not taken"},
}};

const UseText& TextOf(MemoryUse use) { return kTexts[static_cast<size_t>(use)]; }

}  // namespace

absl::string_view LabelOf(MemoryUse use) { return TextOf(use).label; }

absl::string_view WordsOf(MemoryUse use) { return TextOf(use).what; }

void MemoryBudget::SetMemory(uint64_t bytes) {
  memory_.store(bytes, std::memory_order_relaxed);
  for (size_t i = 0; i < kMemoryUses; ++i) {
    accounts_[i].SetLimit(MemoryLimit(static_cast<MemoryUse>(i), bytes));
  }
}

void MemoryBudget::LimitWaiting(uint64_t held_bytes, uint64_t copies) {
  const uint64_t memory = memory_.load(std::memory_order_relaxed);
  if (memory == 0) return;
  const uint64_t held =
      held_bytes + of(MemoryUse::kPushPieces).held() + of(MemoryUse::kMoves).held();
  of(MemoryUse::kWaitingGradients).SetLimit(WaitingForTurnLimit(memory, held, copies));
}

absl::StatusOr<Reservation> MemoryBudget::Reserve(MemoryUse use, size_t bytes) {
  ByteBudget& account = of(use);
  Reservation reservation = account.TryHold(bytes);
  if (reservation != nullptr) return reservation;
  refused_[static_cast<size_t>(use)].fetch_add(1, std::memory_order_relaxed);
  const UseText& text = TextOf(use);
  return NoRoom(absl::StrCat(text.what, " take ", account.held(),
                             " bytes of this shard's memory, which may be ", account.limit(),
                             text.advice));
}

Reservation MemoryBudget::ReserveAnyway(MemoryUse use, size_t bytes) {
  return of(use).HoldAnyway(bytes);
}

}  // namespace capstan::ps
