#include "ps/shard/shard_contents.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"

namespace capstan::ps {

// ---- a timeline ----

absl::Status ShardContents::BeginLoad(uint64_t timeline) {
  CAPSTAN_ASSIGN_OR_RETURN(const bool later, parts_.view.BeginLoad(timeline));
  if (later) parts_.clocks.Restart();
  CAPSTAN_FAILPOINT("load.timeline_begun");
  return absl::OkStatus();
}

void ShardContents::Unload() {
  parts_.coordinator.End();
  absl::MutexLock lock(&mu_);
  parts_.partitions.ForEach([](PartitionIndex, Partition& partition) {
    if (partition.loaded()) partition.Unload();
  });
}

void ShardContents::Load(PartitionIndex index, PartitionContent content) {
  parts_.partitions[index].Load(std::move(content));
}

absl::Status ShardContents::Serve(uint64_t timeline, const RoundsStart& rounds) {
  parts_.rounds.Reset(Timeline{timeline}, rounds.passed);
  parts_.counted.Reset(Timeline{timeline});
  if (parts_.catalog.HasSync() && parts_.partitions[PartitionIndex{0}].loaded()) {
    parts_.coordinator.Begin(timeline, rounds.coordinator);
  } else {
    parts_.coordinator.End();
  }
  return parts_.view.Serve(timeline);
}

// ---- moves ----

void ShardContents::Leave(PartitionIndex index) {
  if (Raw(index) == 0) parts_.coordinator.End();
  absl::MutexLock lock(&mu_);
  parts_.partitions[index].Unload();
  trace::Write("left", {{"partition", Raw(index)}});
  CAPSTAN_FAILPOINT("move.left");
}

absl::Status ShardContents::CheckTimelineOf(PartitionIndex index,
                                            const MovedPartition& moved) const {
  const uint64_t timeline = parts_.view.timeline();
  if (Timeline{timeline} == moved.timeline) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("partition ", Raw(index),
                                                    " has come in timeline ", Raw(moved.timeline),
                                                    ", this is ", timeline));
}

absl::Status ShardContents::Serve(PartitionIndex index, MovedPartition moved) {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckTimelineOf(index, moved));
    // Clocks are lowered before the partition is served.
    parts_.clocks.TakeOver(moved.clocks, /*had_none=*/parts_.partitions.serves_none(),
                           parts_.view.newest()->epoch());
    parts_.partitions[index].Load(std::move(moved.content));
    parts_.rounds.Unpin(moved.timeline, moved.passed.round);
  }
  if (moved.coordinator) parts_.coordinator.Begin(Raw(moved.timeline), moved.coordinator);
  CAPSTAN_FAILPOINT("move.serving");
  return absl::OkStatus();
}

absl::Status ShardContents::Adopt(PartitionIndex index, MovedPartition moved,
                                  const ViewedStandby& standby) {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckTimelineOf(index, moved));
    parts_.partitions[index].Adopt(std::move(moved.content), standby.id);
    trace::Write("adopted", {{"partition", Raw(index)}});
    parts_.rounds.Unpin(moved.timeline, moved.passed.round);
  }
  parts_.clocks.AdoptFrom(standby.owner, moved.clocks);
  if (moved.coordinator) (void)parts_.coordinator.StandBy(*moved.coordinator, [] { return true; });
  CAPSTAN_FAILPOINT("replica.adopted");
  return absl::OkStatus();
}

}  // namespace capstan::ps
