#include "ps/shard/backups.h"

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
#include "ps/shard/coordinator_start.h"

namespace capstan::ps {

// ---- views ----

bool Backups::GoBy(const OwnView& view) const {
  return parts_.replicated && view.timeline() == parts_.view.timeline();
}

void Backups::FollowPairs() {
  const std::shared_ptr<const OwnView> view = parts_.view.newest();
  if (!GoBy(*view)) return;
  std::set<Incarnation> targets;
  parts_.partitions.ForEach([&](PartitionIndex index, Partition& partition) {
    const std::optional<ViewedPair> pair = view->Pair(index);
    if (pair) targets.insert(pair->incarnation);
    // A partition that is not owned is about to leave or to become a backup; a backup gets its own
    // backup when it is promoted.
    if (!partition.serves() || !view->Owns(index)) return;
    const bool coordinates = Raw(index) == 0 && parts_.catalog.HasSync();
    // The coordinator's backup is dropped before the partition's, so that no call waits for a
    // backup whose pair has been released.
    if (coordinates) parts_.coordinator.DropBackupUnless(pair ? pair->id : ViewEpoch());
    if (!pair) return partition.DropBackup();
    const std::shared_ptr<ReplicaStream> stream = StreamTo(*pair);
    partition.SetBackup(pair->id, stream);
    if (coordinates) parts_.coordinator.SetBackup(stream, pair->id);
  });
  parts_.streams.KeepOnly(targets);
}

std::shared_ptr<ReplicaStream> Backups::StreamTo(const ViewedPair& pair) {
  std::shared_ptr<ReplicaStream> stream;
  parts_.rounds.WithKept([&](const ClosedLog& kept) {
    stream =
        parts_.streams.To({pair.address, pair.incarnation}, parts_.view.newest()->timeline(), kept);
  });
  return stream;
}

std::optional<absl::Duration> Backups::StandDown(PartitionIndex index,
                                                 const ViewedStandby& standby) {
  const std::optional<absl::Duration> frozen =
      parts_.partitions[index].StandDown(standby.move, standby.id, parts_.clock.Now());
  if (!frozen) return std::nullopt;
  if (Raw(index) == 0 && parts_.catalog.HasSync()) parts_.coordinator.StandDown();
  log::Info("a partition has been handed over, and is backed up here", {{"partition", Raw(index)}});
  return frozen;
}

void Backups::FollowStandbys() {
  const std::shared_ptr<const OwnView> view = parts_.view.newest();
  if (!GoBy(*view)) return;
  std::vector<PartitionIndex> promoted;
  parts_.partitions.ForEach([&](PartitionIndex index, Partition& partition) {
    const std::optional<ViewEpoch> standby = partition.standby();
    if (!standby) return;
    const std::optional<ViewedStandby> named = view->Standby(index);
    if (view->Received(index) == partition.origin() && *standby != Partition::kSpoiled) {
      promoted.push_back(index);
    } else if (!named || named->id != *standby) {
      contents_.Leave(index);
      log::Info("a backup is not needed any more", {{"partition", Raw(index)}});
    }
  });
  if (!promoted.empty()) {  // Clocks are lowered before any of them is served.
    parts_.clocks.TakeOver(parts_.clocks.LowestOfOwners(), parts_.partitions.serves_none(),
                           parts_.view.newest()->epoch());
  }
  for (const PartitionIndex index : promoted) Promote(index);
  parts_.clocks.KeepOwners([&view](Incarnation owner) { return view->Names(owner); });
}

void Backups::Promote(PartitionIndex index) {
  Partition& promoted = parts_.partitions[index];
  // Nothing is pushed to it before this point.
  trace::Write("promoted", {{"partition", Raw(index)}});
  // It has a backup at once if the previous owner stays as its backup.
  const std::optional<ViewedPair> pair = parts_.view.newest()->Pair(index);
  CoordinatorShell::Backup backup;
  if (pair) {
    backup = {StreamTo(*pair), pair->id};
    promoted.SetBackup(backup.pair, backup.stream);
  }
  promoted.Promote(parts_.clock.Now());
  if (Raw(index) == 0 && parts_.catalog.HasSync()) {
    parts_.coordinator.BeginAsBackup(parts_.view.timeline(), std::move(backup));
  }
  log::Info("a backup has become the owner", {{"partition", Raw(index)}});
}

absl::Status Backups::CheckOwned() const {
  const std::shared_ptr<const OwnView> view = parts_.view.newest();
  if (!GoBy(*view)) return absl::OkStatus();
  absl::Status owned;
  parts_.partitions.ForEach([&](PartitionIndex index, Partition& partition) {
    const std::optional<ViewEpoch> copy = view->Received(index);
    if (!copy || (partition.serves() && partition.origin() == *copy)) return;
    owned.Update(absl::DataLossError(absl::StrCat(
        "the view says that this shard has partition ", Raw(index), " by move ", copy->term, ".",
        copy->n, ", which it has not: it ends, so that the chief returns to a checkpoint")));
  });
  return owned;
}

void Backups::AddBroken(v1::ShardReport& report) const {
  const std::shared_ptr<const OwnView> view = parts_.view.newest();
  if (!GoBy(*view) || parts_.view.followed() != view->epoch()) return;
  parts_.partitions.ForEach([&](PartitionIndex index, Partition& partition) {
    const std::optional<ViewedStandby> named = view->Standby(index);
    if (!named || partition.standby() == named->id) return;
    v1::BrokenPair& broken = *report.add_broken_pairs();
    broken.set_partition(static_cast<uint32_t>(Raw(index)));
    ToProto(named->id, *broken.mutable_pair());
  });
}

// ---- operations of owners ----

absl::StatusOr<std::shared_ptr<const PushMessage>> Backups::ReadPush(const grpc::ByteBuffer& push) {
  // Always reserves memory: the owner has already accepted the push, and waits. Pushes larger than
  // all that may be deferred are applied where they are.
  Reservation reservation =
      parts_.catalog.KeepsGradients() || push.Length() <= kMostPutOff
          ? parts_.memory.ReserveAnyway(MemoryUse::kWaitingGradients, push.Length())
          : nullptr;
  return PushMessage::Read(push, parts_.catalog, std::move(reservation));
}

absl::Status Backups::Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                             const absl::StatusOr<PushShare>& share) {
  if (operation.has_closed())
    return rounds_.Learn(timeline, operation.closed(), RoundFollower::Teller::kShard);
  if (operation.has_clock()) {
    parts_.clocks.HearOfOwner(source,
                              {TrainerId{operation.clock().trainer()}, operation.clock().clock()});
    return absl::OkStatus();
  }
  CAPSTAN_RETURN_IF_ERROR(parts_.catalog.CheckPartition(operation.partition()));
  const auto index = static_cast<PartitionIndex>(operation.partition());
  Partition& standby = parts_.partitions[index];
  const ViewEpoch pair = ViewEpochFromProto(operation.pair());
  // The partition itself compares the pair, so that its lock is taken once per operation.
  const bool in_partition = share.ok() && !operation.has_coordinator();
  if (!in_partition && standby.standby() != pair) {
    return absl::FailedPreconditionError("this is not the backup of the pair");
  }
  const absl::Status replayed = in_partition ? standby.Replay(operation, *share, parts_.clock.Now())
                                : share.ok() ? ReplayCoordinator(operation)
                                             : share.status();
  if (replayed.ok() || (in_partition && absl::IsFailedPrecondition(replayed))) return replayed;
  // SpoilStandby fails if this process has become the owner meanwhile.
  if (!standby.SpoilStandby(pair)) return replayed;
  // The copy can never replace its owner's. The next report tells the chief.
  log::Warn("a backup is of no use any more",
            {{"partition", operation.partition()}, {"error", replayed}});
  return replayed;
}

absl::Status Backups::ReplayCoordinator(const v1::Operation& operation) {
  CAPSTAN_ASSIGN_OR_RETURN(CoordinatorState state,
                           CoordinatorStateFromProto(operation.coordinator()));
  if (state.lanes.size() != parts_.catalog.lanes()) {
    return absl::InvalidArgumentError(absl::StrCat("a coordinator of ", state.lanes.size(),
                                                   " lanes, the job has ", parts_.catalog.lanes()));
  }
  const bool noted = parts_.coordinator.StandBy(std::move(state), [this, &operation] {
    return parts_.partitions[PartitionIndex{0}].standby() == ViewEpochFromProto(operation.pair());
  });
  if (noted) return absl::OkStatus();
  return absl::FailedPreconditionError("this is not the backup of the pair any more");
}

// ---- deferred updates ----

// Each partition has its turn when all others have had theirs, so that its updates accumulate
// meanwhile, and a message, which is kept by all partitions for which it has gradients, is freed
// after one cycle.
void Backups::LimitPutOff() {
  const size_t count = parts_.partitions.size();
  for (size_t i = 0; i < count; ++i) {
    if (parts_.put_off.load(std::memory_order_relaxed) <= kMostPutOff) return;
    ApplyPutOff(static_cast<PartitionIndex>(next_.fetch_add(1, std::memory_order_relaxed) % count));
  }
}

void Backups::Tick() {
  const absl::Time now = parts_.clock.Now();
  {
    absl::MutexLock lock(&mu_);
    if (now - applied_all_ < kLongestPutOff) return;
    applied_all_ = now;
  }
  for (size_t i = 0; i < parts_.partitions.size(); ++i) {
    ApplyPutOff(static_cast<PartitionIndex>(i));
  }
}

void Backups::ApplyPutOff(PartitionIndex index) {
  Partition& partition = parts_.partitions[index];
  if (partition.puts_off()) partition.ApplyPutOff(parts_.clock.Now());
}

}  // namespace capstan::ps
