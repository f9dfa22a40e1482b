// Shard: partitions that others back up, and those that it backs up for others.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/rpc/status.h"
#include "ps/shard/coordinator_start.h"
#include "ps/shard/retry_hints.h"
#include "ps/shard/shard.h"

namespace capstan::ps {
// ---- the lease ----

void Shard::SetLease(absl::Time until) {
  absl::MutexLock lock(&view_mu_);
  lease_until_ = std::max(lease_until_, until);
}

// Without a lease another shard may serve these partitions already.
absl::Status Shard::CheckLease() const {
  if (!replicated_) return absl::OkStatus();
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&view_mu_);
  if (now < lease_until_) return absl::OkStatus();
  return WithRetryAfter(
      absl::UnavailableError(absl::StrCat("shard ", Raw(identity_.index),
                                          " has not heard from the chief for its lease")),
      kNoLeaseHint);
}

// ---- views ----

void Shard::Followed(ViewEpoch epoch) {
  absl::MutexLock lock(&view_mu_);
  followed_ = epoch;
}

ViewEpoch Shard::followed() const {
  absl::MutexLock lock(&view_mu_);
  return followed_;
}

absl::Status Shard::CheckFollowed(const v1::RequestHeader& header) const {
  absl::MutexLock lock(&view_mu_);
  if (ViewEpochFromProto(header.epoch()) <= followed_) return absl::OkStatus();
  return absl::UnavailableError("the view that the order goes by is on its way");
}

bool Shard::BackupsGoBy(const OwnView& view) const {
  return replicated_ && view.timeline() == timeline();
}

void Shard::FollowPairs() {
  const std::shared_ptr<const OwnView> view = this->view();
  if (!BackupsGoBy(*view)) return;
  std::set<Incarnation> targets;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const auto index = static_cast<PartitionIndex>(i);
    Partition& partition = *partitions_[i];
    const std::optional<ViewedPair> pair = view->Pair(index);
    if (pair) targets.insert(pair->incarnation);
    // A partition that is not owned is about to leave or to stand down; a backup gets its own
    // backup when it is promoted.
    if (!partition.serves() || !view->Owns(index)) continue;
    const bool coordinates = Raw(index) == 0 && catalog_.HasSync();
    // The coordinator's backup is dropped before the partition's, so that no call waits for a
    // backup whose pair has been released.
    if (coordinates) coordinator_.DropBackupUnless(pair ? pair->id : ViewEpoch());
    if (!pair) {
      partition.DropBackup();
      continue;
    }
    const std::shared_ptr<ReplicaStream> stream = StreamTo(*pair);
    partition.SetBackup(pair->id, stream);
    if (coordinates) coordinator_.SetBackup(stream, pair->id);
  }
  streams_.KeepOnly(targets);
}

std::shared_ptr<ReplicaStream> Shard::StreamTo(const ViewedPair& pair) {
  std::shared_ptr<ReplicaStream> stream;
  rounds_.WithKept([&](const ClosedLog& kept) {
    stream = streams_.To({pair.address, pair.incarnation}, view()->timeline(), kept);
  });
  return stream;
}

std::optional<absl::Duration> Shard::StandDown(PartitionIndex index, const ViewedStandby& standby) {
  const std::optional<absl::Duration> frozen =
      partition(index).StandDown(standby.move, standby.id, clock_.Now());
  if (!frozen) return std::nullopt;
  if (Raw(index) == 0 && catalog_.HasSync()) coordinator_.StandDown();
  log::Info("a partition has been handed over, and is backed up here", {{"partition", Raw(index)}});
  return frozen;
}

void Shard::FollowStandbys() {
  const std::shared_ptr<const OwnView> view = this->view();
  if (!BackupsGoBy(*view)) return;
  std::vector<PartitionIndex> promoted;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const auto index = static_cast<PartitionIndex>(i);
    Partition& partition = *partitions_[i];
    const std::optional<ViewEpoch> standby = partition.standby();
    if (!standby) continue;
    const std::optional<ViewedStandby> named = view->Standby(index);
    if (view->Received(index) == partition.origin() && *standby != Partition::kSpoiled) {
      promoted.push_back(index);
    } else if (!named || named->id != *standby) {
      Leave(index);
      log::Info("a backup is not needed any more", {{"partition", i}});
    }
  }
  if (!promoted.empty()) {  // Clocks are lowered before any of them is served.
    clocks_.TakeOver(clocks_.LowestOfOwners(), ServesNone(), this->view()->epoch());
  }
  for (const PartitionIndex index : promoted) Promote(index);
  clocks_.KeepOwners([&view](Incarnation owner) { return view->Names(owner); });
}

void Shard::Promote(PartitionIndex index) {
  Partition& promoted = partition(index);
  // Before this point nothing is pushed to it.
  trace::Write("promoted", {{"partition", Raw(index)}});
  // It has a backup at once if the owner before stays as its backup.
  const std::optional<ViewedPair> pair = view()->Pair(index);
  CoordinatorShell::Backup backup;
  if (pair) {
    backup = {StreamTo(*pair), pair->id};
    promoted.SetBackup(backup.pair, backup.stream);
  }
  promoted.Promote(clock_.Now());
  if (Raw(index) == 0 && catalog_.HasSync()) {
    coordinator_.BeginAsBackup(timeline(), std::move(backup));
  }
  log::Info("a backup has become the owner", {{"partition", Raw(index)}});
}

absl::Status Shard::CheckOwned() const {
  const std::shared_ptr<const OwnView> view = this->view();
  if (!BackupsGoBy(*view)) return absl::OkStatus();
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const std::optional<ViewEpoch> copy = view->Received(static_cast<PartitionIndex>(i));
    if (!copy || (partitions_[i]->serves() && partitions_[i]->origin() == *copy)) continue;
    return absl::DataLossError(absl::StrCat(
        "the view says that this shard has partition ", i, " by move ", copy->term, ".", copy->n,
        ", which it has not: it ends, so that the chief returns to a checkpoint"));
  }
  return absl::OkStatus();
}

void Shard::AddBroken(v1::ShardReport& report) const {
  const std::shared_ptr<const OwnView> view = this->view();
  if (!BackupsGoBy(*view) || followed() != view->epoch()) return;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const std::optional<ViewedStandby> named = view->Standby(static_cast<PartitionIndex>(i));
    if (!named || partitions_[i]->standby() == named->id) continue;
    v1::BrokenPair& broken = *report.add_broken_pairs();
    broken.set_partition(static_cast<uint32_t>(i));
    ToProto(named->id, *broken.mutable_pair());
  }
}

// ---- the backup ----

absl::Status Shard::Adopt(PartitionIndex index, MovedPartition moved,
                          const ViewedStandby& standby) {
  {
    absl::MutexLock lock(&contents_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckTimelineOf(index, moved));
    partition(index).Adopt(std::move(moved.content), standby.id);
    trace::Write("adopted", {{"partition", Raw(index)}});
    rounds_.Unpin(moved.timeline, moved.passed.round);
  }
  clocks_.AdoptFrom(standby.owner, moved.clocks);
  if (moved.coordinator) (void)coordinator_.StandBy(*moved.coordinator, [] { return true; });
  CAPSTAN_FAILPOINT("replica.adopted");
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const PushMessage>> Shard::ReadReplicated(
    const grpc::ByteBuffer& push) {
  // Always takes room: the owner has found room for the push already, and waits.
  Reservation reservation = catalog_.KeepsGradients()
                                ? memory_.ReserveAnyway(MemoryUse::kWaitingGradients, push.Length())
                                : nullptr;
  return PushMessage::Read(push, catalog_, std::move(reservation));
}

absl::Status Shard::Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                           const absl::StatusOr<PushShare>& share) {
  if (operation.has_closed()) return LearnRound(timeline, operation.closed(), Teller::kShard);
  if (operation.has_clock()) {
    clocks_.HearOfOwner(source,
                        {TrainerId{operation.clock().trainer()}, operation.clock().clock()});
    return absl::OkStatus();
  }
  CAPSTAN_RETURN_IF_ERROR(catalog_.CheckPartition(operation.partition()));
  const auto index = static_cast<PartitionIndex>(operation.partition());
  Partition& standby = partition(index);
  if (standby.standby() != ViewEpochFromProto(operation.pair())) {
    return absl::FailedPreconditionError("this is not the backup of the pair");
  }
  const absl::Status replayed = !share.ok() ? share.status()
                                : operation.has_coordinator()
                                    ? ReplayCoordinator(operation)
                                    : standby.Replay(operation, *share, clock_.Now());
  // SpoilStandby fails if this process has become the owner meanwhile.
  if (replayed.ok() || !standby.SpoilStandby(ViewEpochFromProto(operation.pair()))) return replayed;
  // The copy can never take its owner's place. The next report tells the chief.
  log::Warn("a backup is of no use any more",
            {{"partition", operation.partition()}, {"error", replayed}});
  return replayed;
}

absl::Status Shard::ReplayCoordinator(const v1::Operation& operation) {
  CAPSTAN_ASSIGN_OR_RETURN(CoordinatorState state,
                           CoordinatorStateFromProto(operation.coordinator()));
  if (state.lanes.size() != catalog_.lanes()) {
    return absl::InvalidArgumentError(absl::StrCat("a coordinator of ", state.lanes.size(),
                                                   " lanes, the job has ", catalog_.lanes()));
  }
  const bool noted = coordinator_.StandBy(std::move(state), [this, &operation] {
    return partition(PartitionIndex{0}).standby() == ViewEpochFromProto(operation.pair());
  });
  if (noted) return absl::OkStatus();
  return absl::FailedPreconditionError("this is not the backup of the pair any more");
}

}  // namespace capstan::ps
