// Shard: what the coordinator tells of rounds. Commits and counts arrive by its news; a commit that
// is late is asked for, and arrives with a request.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/shard/rejection.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

absl::Status Shard::LearnRound(uint64_t timeline, const v1::RoundCommit& closed, Teller teller) {
  if (closed.round() <= rounds_.last_round()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(RoundCommit set, RoundCommitFromProto(closed));
  const bool sealed = teller == Teller::kTrainer || teller == Teller::kCoordinator;
  if (sealed) CAPSTAN_RETURN_IF_ERROR(seals_.CheckRound(timeline, set));
  if (!rounds_.Learn(Timeline{timeline}, set, [this] { return IsEmpty(); })) {
    return absl::OkStatus();
  }
  CAPSTAN_FAILPOINT("round.sweep");
  SweepRounds();
  CAPSTAN_FAILPOINT("round.swept");
  return absl::OkStatus();
}

absl::StatusOr<bool> Shard::HearCommit(uint64_t timeline, const v1::RoundCommit& closed) {
  if (timeline != this->timeline()) return false;
  CAPSTAN_RETURN_IF_ERROR(LearnRound(timeline, closed, Teller::kCoordinator));
  return true;
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

// A shard that has taken in a request of a round knows the commits of all rounds before: also where
// the request holds nothing for its partitions, which therefore could not refuse it.
absl::Status Shard::CheckHeardBefore(uint64_t round) const {
  const uint64_t last = rounds_.last_round();
  if (round <= last + 1) return absl::OkStatus();
  return WithReason(absl::OutOfRangeError(absl::StrCat("a request of round ", round,
                                                       " without the commit of round ", round - 1,
                                                       "; the last that is known here is ", last)),
                    Rejection::kWrongRound);
}

absl::Status Shard::LearnRoundOf(const v1::PullRequest& head) {
  if (head.has_closed()) {
    return LearnRound(head.header().timeline(), head.closed(), Teller::kTrainer);
  }
  return head.evaluation() ? absl::OkStatus() : CheckHeardBefore(head.round());
}

absl::Status Shard::LearnRoundOf(const v1::PushRequest& head) {
  if (!head.has_stage()) return absl::OkStatus();
  if (head.stage().has_closed()) {
    return LearnRound(head.header().timeline(), head.stage().closed(), Teller::kTrainer);
  }
  return CheckHeardBefore(head.stage().round());
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
