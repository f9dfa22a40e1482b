#include "ps/machines/lane_part.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::ps {

Decision LanePart::Stage(const LaneGradient& gradient) {
  Decision decision;
  decision.outcome = v1::OUTCOME_STAGED;
  Generation& fence = fences_[gradient.lane];
  if (gradient.generation < fence) {
    decision.outcome = v1::OUTCOME_OLD_GENERATION;
    decision.discarded.push_back(gradient.handle);
    return decision;
  }
  fence = gradient.generation;
  if (gradient.lane < turn_) {
    decision.discarded.push_back(gradient.handle);
    return decision;
  }
  const auto [found, inserted] =
      staged_.try_emplace(gradient.lane, Staged{gradient.generation, gradient.handle});
  if (inserted) return decision;
  Staged& staged = found->second;
  if (staged.generation == gradient.generation) {
    decision.discarded.push_back(gradient.handle);
    return decision;
  }
  decision.discarded.push_back(staged.handle);
  staged = {gradient.generation, gradient.handle};
  return decision;
}

void LanePart::AddCounted(const LaneCounts& counts, Decision& decision) {
  for (;; turn_ = LaneIndex{Raw(turn_) + 1}) {
    if (counts.IsAtEnd(turn_)) continue;
    const ClosedLane* const counted = counts.FindCounted(turn_);
    if (counted == nullptr) return;
    const auto found = staged_.find(turn_);
    if (found == staged_.end() || found->second.generation != counted->generation) continue;
    decision.additions.push_back(
        {part_, found->second.handle,
         LaneWeight(counted->examples, weighing_.batch_size, weighing_.sum_loss),
         LaneWeight(counted->examples, weighing_.batch_size, /*sum_loss=*/false), turn_,
         counted->generation});
    staged_.erase(found);
    ++added_;
  }
}

void LanePart::Close(const RoundCommit& set, uint64_t& version, Decision& decision) {
  Update update;
  update.part = part_;
  update.added = std::exchange(added_, 0);
  const uint64_t examples = ExamplesOf(set);
  update.scale = RoundScale(examples, weighing_.batch_size, weighing_.sum_loss);
  // A tensor that is not trained gets the mean of the lanes, whether their losses are sums or
  // means.
  update.running_scale = RoundScale(examples, weighing_.batch_size, /*sum_loss=*/false);
  for (const ClosedLane& lane : set.lanes) {
    const auto found = staged_.find(lane.lane);
    if (found == staged_.end() || found->second.generation != lane.generation) continue;
    update.contributions.push_back(
        {.handle = found->second.handle,
         .weight = LaneWeight(lane.examples, weighing_.batch_size, weighing_.sum_loss),
         .running_weight = LaneWeight(lane.examples, weighing_.batch_size, /*sum_loss=*/false)});
    staged_.erase(found);
  }
  for (const auto& [lane, staged] : staged_) decision.discarded.push_back(staged.handle);
  staged_.clear();
  turn_ = LaneIndex{0};
  if (update.added == 0 && update.contributions.empty()) return;
  update.version = ++version;
  update.round = set.round;
  decision.updates.push_back(std::move(update));
}

std::string LanePart::DebugString() const {
  std::string text = absl::StrCat("a", added_, "<", Raw(turn_), " ");
  for (const auto& [lane, staged] : staged_) {
    absl::StrAppend(&text, "l", Raw(lane), "g", staged.generation.term, ".",
                    staged.generation.count, "=", static_cast<uint64_t>(staged.handle), " ");
  }
  for (const auto& [lane, fence] : fences_) {
    absl::StrAppend(&text, "f", Raw(lane), "g", fence.term, ".", fence.count, " ");
  }
  return text;
}

}  // namespace capstan::ps
