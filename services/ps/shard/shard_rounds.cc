// Shard: what the coordinator tells of rounds. Commits arrive with requests, counts by its news.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

absl::Status Shard::LearnRound(uint64_t timeline, const v1::RoundCommit& closed, Teller teller) {
  if (closed.round() <= rounds_.last_round()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(RoundCommit set, RoundCommitFromProto(closed));
  if (teller == Teller::kTrainer) CAPSTAN_RETURN_IF_ERROR(seals_.CheckRound(timeline, set));
  if (!rounds_.Learn(Timeline{timeline}, set, [this] { return IsEmpty(); })) {
    return absl::OkStatus();
  }
  CAPSTAN_FAILPOINT("round.sweep");
  SweepRounds();
  CAPSTAN_FAILPOINT("round.swept");
  return absl::OkStatus();
}

void Shard::SweepRounds() {
  const absl::Time now = clock_.Now();
  uint64_t passed = rounds_.last_round();
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    // Backups count as well: their owners tell them how far they may go.
    if (partition->loaded()) passed = std::min(passed, partition->CatchUp(now));
  }
  rounds_.Forget(passed);
}

bool Shard::LearnCounts(uint64_t timeline, const LaneNews& news) {
  if (!counted_.Learn(Timeline{timeline}, news)) return false;
  const absl::Time now = clock_.Now();
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    if (partition->loaded()) partition->AddCounted(now);
  }
  return true;
}

bool Shard::AddsCounted() const {
  return AddsAhead(catalog_.policy(Part::kDense)) || AddsAhead(catalog_.policy(Part::kSparse));
}

absl::Status Shard::LearnRoundOf(const v1::PushRequest& head) {
  if (!head.has_stage()) return absl::OkStatus();
  return LearnRound(head.header().timeline(), head.stage().closed(), Teller::kTrainer);
}

// A push that is for no round waits in a queue, if there is one, or not at all.
bool Shard::MayWait(const v1::PushRequest& head) const {
  if (head.has_stage()) return !IsNext(head);
  return catalog_.policy(Part::kDense).aggregate() > 1 ||
         catalog_.policy(Part::kSparse).aggregate() > 1;
}

bool Shard::IsNext(const v1::PushRequest& head) const {
  if (!AddsCounted() || !head.has_stage()) return false;
  bool next = false;
  counted_.Read([&](const LaneCounts& counts) {
    const uint64_t round = head.stage().round();
    // The push does not wait: its sender is told that the round is over.
    const bool over = round < counts.round();
    next = counts.timeline() == Timeline{head.header().timeline()} &&
           (over || counts.NextOf(round) == static_cast<LaneIndex>(head.stage().lane()));
  });
  return next;
}

}  // namespace capstan::ps
