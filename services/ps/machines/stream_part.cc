#include "ps/machines/stream_part.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace capstan::ps {
namespace {

v1::Outcome OutcomeOf(LedgerAnswer answer) {
  switch (answer) {
    case LedgerAnswer::kFresh:
      return v1::OUTCOME_UNSPECIFIED;
    case LedgerAnswer::kSettled:
      return v1::OUTCOME_SETTLED;
    case LedgerAnswer::kOldGeneration:
      return v1::OUTCOME_OLD_GENERATION;
    case LedgerAnswer::kOutsideWindow:
      return v1::OUTCOME_OUTSIDE_WINDOW;
    case LedgerAnswer::kFull:
      return v1::OUTCOME_BUSY;
  }
  return v1::OUTCOME_BUSY;
}

// A client may send any version; a gradient with a future version is not stale.
uint64_t Staleness(uint64_t version, uint64_t pulled) {
  return version > pulled ? version - pulled : 0;
}

// A gradient of a running tensor moves the pulled value a part of the way to the batch's value. If
// many workers pulled the same value, their gradients together would move it far beyond the
// batches' values, and oscillate with growing amplitude: with a step of m and a staleness of s this
// begins at m * s > pi / 2. Divided by s, their gradients together move it as far as a single one
// that is not stale.
double RunningWeight(size_t of, uint64_t staleness) {
  return 1 / (static_cast<double>(of) * static_cast<double>(std::max<uint64_t>(staleness, 1)));
}

}  // namespace

StreamPart::StreamPart(Part part, const v1::UpdatePolicy& policy, uint32_t capacity)
    : part_(part),
      policy_(policy),
      aggregate_(AggregateOf(policy)),
      capacity_(capacity > 0 ? capacity : 2 * aggregate_) {}

Decision StreamPart::Push(const StreamGradient& gradient, bool held_back, absl::Time now,
                          uint64_t& version) {
  const LedgerAnswer answer = ledger_.Look(gradient.name, now);
  if (answer != LedgerAnswer::kFresh) return Refused(OutcomeOf(answer), gradient.handle);

  const bool full = aggregate_ > 1 ? queue_.size() >= capacity_ : held_back;
  if (full) return Refused(v1::OUTCOME_BUSY, gradient.handle);
  ledger_.Settle(gradient.name);
  if (Judge(gradient.judged_by_rows, Staleness(version, gradient.pulled_version)).drop) {
    return Refused(v1::OUTCOME_DROPPED, gradient.handle);
  }

  if (!gradient.counted_elsewhere && !gradient.name.stream.is_session()) ++batches_;

  Decision decision;
  decision.outcome = aggregate_ > 1 ? v1::OUTCOME_QUEUED : v1::OUTCOME_APPLIED;
  queue_.push_back({gradient.handle, gradient.pulled_version, gradient.judged_by_rows});
  if (!held_back) Drain(/*all=*/false, version, decision);
  return decision;
}

void StreamPart::RestoreBatches(std::optional<uint64_t> batches, uint64_t version) {
  constexpr uint64_t kMost = uint64_t{1} << 60;  // So that the product fits.
  batches_ = batches.value_or(std::min(version, kMost / aggregate_) * aggregate_);
}

void StreamPart::Drain(bool all, uint64_t& version, Decision& decision) {
  size_t begin = 0;
  while (queue_.size() - begin >= aggregate_ || (all && begin < queue_.size())) {
    const size_t take = std::min(aggregate_, queue_.size() - begin);
    Update update;
    update.part = part_;
    for (size_t i = begin; i < begin + take; ++i) {
      update.contributions.push_back(Weigh(queue_[i], take, version));
    }
    update.version = ++version;
    decision.updates.push_back(std::move(update));
    begin += take;
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(begin));
}

StaleDecision StreamPart::Judge(bool by_rows, uint64_t staleness) const {
  return by_rows ? StaleDecision() : DecideStale(policy_, staleness);
}

Contribution StreamPart::Weigh(const Queued& gradient, size_t of, uint64_t version) const {
  const uint64_t staleness = Staleness(version, gradient.pulled_version);
  const StaleDecision decision = Judge(gradient.judged_by_rows, staleness);
  return {.handle = gradient.handle,
          .weight = decision.weight / static_cast<double>(of),
          .staleness = staleness,
          .compensate = decision.compensate,
          .running_weight = RunningWeight(of, staleness)};
}

std::string StreamPart::DebugString() const {
  const LedgerState state = ledger_.state();
  std::string text;
  for (const StreamEntry& entry : state.streams) {
    absl::StrAppend(&text, "s", entry.stream.value, "g", entry.generation.term, ".",
                    entry.generation.count, ":", entry.prefix, "+", absl::Hex(entry.above), " ");
  }
  for (const auto& [first, last] : state.closed) absl::StrAppend(&text, "c", first, "-", last, " ");
  for (const Queued& gradient : queue_) {
    absl::StrAppend(&text, "q", static_cast<uint64_t>(gradient.handle), "@",
                    gradient.pulled_version, " ");
  }
  return text;
}

}  // namespace capstan::ps
