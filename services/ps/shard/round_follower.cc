#include "ps/shard/round_follower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {

absl::Status RoundFollower::Learn(uint64_t timeline, const v1::RoundCommit& closed, Teller teller) {
  if (closed.round() <= parts_.rounds.last_round()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(RoundCommit set, RoundCommitFromProto(closed));
  const bool sealed = teller == Teller::kTrainer || teller == Teller::kCoordinator;
  if (sealed) CAPSTAN_RETURN_IF_ERROR(parts_.seals.CheckRound(timeline, set));
  const bool is_long =
      parts_.rounds.Learn(Timeline{timeline}, set, [this] { return parts_.partitions.empty(); });
  if (!is_long) return absl::OkStatus();
  CAPSTAN_FAILPOINT("round.sweep");
  Sweep();
  CAPSTAN_FAILPOINT("round.swept");
  return absl::OkStatus();
}

absl::StatusOr<bool> RoundFollower::Hear(uint64_t timeline, const v1::RoundCommit& closed) {
  if (timeline != parts_.view.timeline()) return false;
  CAPSTAN_RETURN_IF_ERROR(Learn(timeline, closed, Teller::kCoordinator));
  return true;
}

// A shard that has accepted a request of a round knows the commits of all earlier rounds, even if
// the request has nothing for its partitions, which could otherwise refuse it.
absl::Status RoundFollower::CheckHeardBefore(uint64_t round) const {
  const uint64_t last = parts_.rounds.last_round();
  if (round <= last + 1) return absl::OkStatus();
  return WithReason(absl::OutOfRangeError(absl::StrCat("a request of round ", round,
                                                       " without the commit of round ", round - 1,
                                                       "; the last that is known here is ", last)),
                    Rejection::kWrongRound);
}

absl::Status RoundFollower::LearnFrom(const v1::PullRequest& head) {
  if (head.has_closed()) return Learn(head.header().timeline(), head.closed(), Teller::kTrainer);
  return head.evaluation() ? absl::OkStatus() : CheckHeardBefore(head.round());
}

absl::Status RoundFollower::LearnFrom(const v1::PushRequest& head) {
  if (!head.has_stage()) return absl::OkStatus();
  if (head.stage().has_closed()) {
    return Learn(head.header().timeline(), head.stage().closed(), Teller::kTrainer);
  }
  return CheckHeardBefore(head.stage().round());
}

void RoundFollower::Sweep() {
  const absl::Time now = parts_.clock.Now();
  uint64_t passed = parts_.rounds.last_round();
  parts_.partitions.ForEach([&](PartitionIndex, Partition& partition) {
    // Backups count as well: their owners tell them how far they may advance.
    if (partition.loaded()) passed = std::min(passed, partition.CatchUp(now));
  });
  parts_.rounds.Forget(passed);
}

bool RoundFollower::AddsCounted() const {
  return AddsAhead(parts_.catalog.policy(Part::kDense)) ||
         AddsAhead(parts_.catalog.policy(Part::kSparse));
}

bool RoundFollower::LearnCounts(uint64_t timeline, const LaneNews& news) {
  if (!parts_.counted.Learn(Timeline{timeline}, news)) return false;
  const absl::Time now = parts_.clock.Now();
  parts_.partitions.ForEach([now](PartitionIndex, Partition& partition) {
    if (partition.loaded()) partition.AddCounted(now);
  });
  return true;
}

// A push that is not for a round waits in a queue, if there is one, or not at all.
bool RoundFollower::MayWait(const v1::PushRequest& head) const {
  if (head.has_stage()) return !IsNext(head);
  return parts_.catalog.policy(Part::kDense).aggregate() > 1 ||
         parts_.catalog.policy(Part::kSparse).aggregate() > 1;
}

bool RoundFollower::IsNext(const v1::PushRequest& head) const {
  if (!AddsCounted()) return false;
  bool next = false;
  parts_.counted.Read([&](const LaneCounts& counts) {
    const uint64_t round = head.stage().round();
    // The push does not wait: its sender is told that the round is over.
    const bool over = round < counts.round();
    next = counts.timeline() == Timeline{head.header().timeline()} &&
           (over || counts.NextOf(round) == static_cast<LaneIndex>(head.stage().lane()));
  });
  return next;
}

absl::Status RoundFollower::Expect(Timeline timeline, const RoundCommit& passed) {
  if (!parts_.catalog.HasSync()) return absl::OkStatus();
  return parts_.rounds.Pin(timeline, passed, [this] { return parts_.partitions.empty(); });
}

void RoundFollower::GiveUp(Timeline timeline, const RoundCommit& passed) {
  parts_.rounds.Unpin(timeline, passed.round);
}

}  // namespace capstan::ps
