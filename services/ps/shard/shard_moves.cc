// Shard: partitions that leave for another shard, and that come from one.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

std::shared_ptr<const ViewedMoves> Shard::moves() const {
  absl::MutexLock lock(&view_mu_);
  return moves_;
}

bool Shard::IsEmpty() const {
  return std::none_of(partitions_.begin(), partitions_.end(),
                      [](const auto& partition) { return partition->loaded(); });
}

void Shard::Leave(PartitionIndex index) {
  if (Raw(index) == 0) SetCoordinator(/*timeline=*/0, std::nullopt);
  absl::MutexLock lock(&contents_mu_);
  partition(index).Unload();
  CAPSTAN_FAILPOINT("move.left");
}

absl::Status Shard::Serve(PartitionIndex index, MovedPartition moved) {
  PullAnswers released;
  {
    absl::MutexLock lock(&contents_mu_);
    if (Timeline{timeline()} != moved.timeline) {
      return absl::FailedPreconditionError(
          absl::StrCat("partition ", Raw(index), " has come in timeline ", Raw(moved.timeline),
                       ", this is ", timeline()));
    }
    partition(index).Load(std::move(moved.content));
    rounds_.Unpin(moved.timeline, moved.passed.round);
  }
  if (moved.coordinator) SetCoordinator(Raw(moved.timeline), NewCoordinator(moved.coordinator));
  CAPSTAN_FAILPOINT("move.serving");
  if (!clocks_needed_) return absl::OkStatus();
  {
    absl::MutexLock lock(&clock_mu_);
    for (const FinishedClock& clock : moved.clocks) {
      const PullAnswers more = clocks_.Finished(clock.trainer, clock.clock);
      released.insert(released.end(), more.begin(), more.end());
    }
  }
  AnswerPulls(released);
  return absl::OkStatus();
}

absl::Status Shard::Expect(Timeline timeline, const RoundCommit& passed) {
  if (!catalog_.HasSync()) return absl::OkStatus();
  return rounds_.Pin(timeline, passed, [this] { return IsEmpty(); });
}

void Shard::GiveUp(Timeline timeline, const RoundCommit& passed) {
  rounds_.Unpin(timeline, passed.round);
}

std::vector<FinishedClock> Shard::Clocks() const {
  absl::MutexLock lock(&clock_mu_);
  return clocks_needed_ ? clocks_.clocks() : std::vector<FinishedClock>();
}

absl::StatusOr<std::optional<CoordinatorState>> Shard::SilenceCoordinator() {
  absl::MutexLock lock(&coordinator_mu_);
  if (!coordinator_) return std::optional<CoordinatorState>();
  if (coordinator_->counting()) {
    return absl::UnavailableError(
        absl::StrCat("lanes are counted in round ", coordinator_->open_round(), ", which is open"));
  }
  coordinator_silent_ = true;
  return std::optional<CoordinatorState>(coordinator_->state());
}

void Shard::ResumeCoordinator() {
  absl::MutexLock lock(&coordinator_mu_);
  coordinator_silent_ = false;
}

}  // namespace capstan::ps
