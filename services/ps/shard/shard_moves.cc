// Shard: partitions that leave for another shard, and that come from one.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/placement/view_epoch.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

std::shared_ptr<const OwnView> Shard::view() const {
  absl::MutexLock lock(&view_mu_);
  return view_;
}

bool Shard::IsEmpty() const {
  return std::none_of(partitions_.begin(), partitions_.end(),
                      [](const auto& partition) { return partition->loaded(); });
}

bool Shard::ServesNone() const {
  return std::none_of(partitions_.begin(), partitions_.end(),
                      [](const auto& partition) { return partition->serves(); });
}

void Shard::Leave(PartitionIndex index) {
  if (Raw(index) == 0) coordinator_.End();
  absl::MutexLock lock(&contents_mu_);
  partition(index).Unload();
  trace::Write("left", {{"partition", Raw(index)}});
  CAPSTAN_FAILPOINT("move.left");
}

absl::Status Shard::CheckTimelineOf(PartitionIndex index, const MovedPartition& moved) const {
  if (Timeline{timeline()} == moved.timeline) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("partition ", Raw(index),
                                                    " has come in timeline ", Raw(moved.timeline),
                                                    ", this is ", timeline()));
}

absl::Status Shard::Serve(PartitionIndex index, MovedPartition moved) {
  {
    absl::MutexLock lock(&contents_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckTimelineOf(index, moved));
    // Clocks are lowered before the partition is served.
    clocks_.TakeOver(moved.clocks, /*had_none=*/ServesNone(), view()->epoch());
    partition(index).Load(std::move(moved.content));
    rounds_.Unpin(moved.timeline, moved.passed.round);
  }
  if (moved.coordinator) coordinator_.Begin(Raw(moved.timeline), moved.coordinator);
  CAPSTAN_FAILPOINT("move.serving");
  return absl::OkStatus();
}

// A trainer tells what it has finished on the partitions that are here by its own view. By an older
// view than ours it knows nothing of partitions that have come since; ClockShell::OnFinished
// ignores that clock, and the trainer tells again. By a newer view, which may give more partitions
// to this shard, it would tell too early: it has to come again.
absl::Status Shard::CheckClock(const v1::RequestHeader& header) const {
  if (!clocks_.needed() || header.trainer() == 0 || header.clock() == 0) return absl::OkStatus();
  const std::shared_ptr<const OwnView> view = this->view();
  const ViewEpoch by = ViewEpochFromProto(header.epoch());
  if (by <= view->epoch() || !view->AwaitsAny()) return absl::OkStatus();
  return absl::UnavailableError("partitions are on their way here, and their view is, too");
}

absl::Status Shard::Expect(Timeline timeline, const RoundCommit& passed) {
  if (!catalog_.HasSync()) return absl::OkStatus();
  return rounds_.Pin(timeline, passed, [this] { return IsEmpty(); });
}

void Shard::GiveUp(Timeline timeline, const RoundCommit& passed) {
  rounds_.Unpin(timeline, passed.round);
}

}  // namespace capstan::ps
