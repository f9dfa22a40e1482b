#include "ps/transfer/staged_partitions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/machine_state.h"
#include "ps/shard/coordinator_start.h"

namespace capstan::ps {

StagedPartitions::~StagedPartitions() {
  Entries entries;  // Their works end after `lock` is released.
  std::vector<std::unique_ptr<Entry>> dropped;
  absl::MutexLock lock(&mu_);
  entries.swap(entries_);
  dropped.swap(dropped_);
}

absl::Status StagedPartitions::Check(const v1::TakePartitionRequest& request) const {
  CAPSTAN_RETURN_IF_ERROR(shard_.catalog().CheckPartition(request.partition()));
  if (request.piece().size() > kMaxPieceBytes || (request.piece().empty() && !request.last())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a piece of ", request.piece().size(), " bytes"));
  }
  const std::shared_ptr<const OwnView> view = shard_.view().newest();
  const ViewEpoch id = ViewEpochFromProto(request.move());
  const bool named = view->timeline() == request.header().timeline() &&
                     view->Incoming(static_cast<PartitionIndex>(request.partition())) == id;
  if (named) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("view ", view->epoch().term, ".", view->epoch().n, " names no move ", id.term,
                   ".", id.n, " of partition ", request.partition(), " to this process"));
}

absl::StatusOr<v1::TakePartitionReply> StagedPartitions::Take(
    const v1::TakePartitionRequest& request) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_RETURN_IF_ERROR(Check(request));
  Reap();
  Entry& entry = Find({static_cast<PartitionIndex>(request.partition()),
                       Timeline{request.header().timeline()}, ViewEpochFromProto(request.move())});
  // A partition that is accepted above the limit is accepted until it has arrived completely: if
  // another took its turn, both would be above the limit, and neither might ever be completed.
  if (first_ == nullptr || !first_->stage.receiving()) first_ = &entry;
  const bool always_fits = first_ == &entry;
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("move.piece_received"));
  CAPSTAN_RETURN_IF_ERROR(entry.stage.Take(request, shard_.memory(), always_fits));
  CAPSTAN_FAILPOINT("move.piece_taken");
  shard_.metrics().CountReceived(request.piece().size());
  StartWork(entry);
  shard_.metrics().SetStagedBytes(BytesOfAll());
  v1::TakePartitionReply reply;
  if (entry.stage.decoded()) {
    CAPSTAN_RETURN_IF_ERROR(Prepare(entry));
    reply.set_complete(true);
  } else {
    reply.set_complete(entry.stage.HasDecoded(request.file()));
  }
  return reply;
}

StagedPartitions::Entry& StagedPartitions::Find(const MoveName& name) {
  const auto found = entries_.find(name.partition);
  if (found != entries_.end()) {
    const MoveName& present = found->second->stage.name();
    if (present.id == name.id && present.timeline == name.timeline) return *found->second;
    Drop(found);
  }
  return *entries_.emplace(name.partition, std::make_unique<Entry>(name)).first->second;
}

void StagedPartitions::StartWork(Entry& entry) {
  std::optional<StageWork> next = entry.stage.NextWork();
  if (!next) return;
  entry.work.reset();  // The work has ended.
  entry.work = background_.Begin(
      [this, &entry, work = *std::move(next)]() mutable { Work(entry, std::move(work)); });
}

void StagedPartitions::Work(Entry& entry, StageWork work) {
  for (;;) {
    const absl::Status status = work.Run(shard_, entry.stage.name());
    if (work.rest) {
      CAPSTAN_FAILPOINT("move.rest_applied");
    } else if (work.number > 0) {
      CAPSTAN_FAILPOINT("move.changes_applied");
    } else {
      CAPSTAN_FAILPOINT("move.copy_decoded");
    }
    absl::MutexLock lock(&mu_);
    entry.stage.End(std::move(work), status);
    std::optional<StageWork> next = entry.stage.NextWork();
    if (!next) return;
    work = *std::move(next);
  }
}

absl::Status StagedPartitions::Prepare(Entry& entry) {
  if (!entry.moved) {
    absl::StatusOr<MovedPartition> moved = MovedOf(entry);
    if (!moved.ok()) entry.stage.Fail(moved.status());
    CAPSTAN_RETURN_IF_ERROR(moved.status());
    entry.moved = *std::move(moved);
  }
  if (entry.expected) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(shard_.rounds().Expect(entry.moved->timeline, entry.moved->passed));
  entry.expected = true;
  const MoveName& name = entry.stage.name();
  trace::Write("took",
               {{"partition", Raw(name.partition)}, {"term", name.id.term}, {"n", name.id.n}});
  CAPSTAN_FAILPOINT("move.complete");
  return absl::OkStatus();
}

absl::StatusOr<MovedPartition> StagedPartitions::MovedOf(Entry& entry) const {
  const MoveName& name = entry.stage.name();
  const v1::TakePartitionRequest& told = entry.stage.state();
  DecodedPartition decoded = entry.stage.TakePartition();
  CAPSTAN_ASSIGN_OR_RETURN(const PartitionState state, DecodeMachineState(decoded.machine));
  MovedPartition moved{.timeline = name.timeline,
                       .content = {std::move(decoded.store),
                                   PartitionMachine(MachineOptions(shard_.catalog(), name.timeline),
                                                    state, shard_.clock().Now()),
                                   /*base=*/"", name.id}};
  for (const v1::TrainerClock& clock : told.clocks()) {
    moved.clocks.push_back({TrainerId{clock.trainer()}, clock.clock()});
  }
  CAPSTAN_ASSIGN_OR_RETURN(moved.passed, RoundCommitFromProto(told.passed()));
  if (told.has_coordinator()) {
    CAPSTAN_ASSIGN_OR_RETURN(moved.coordinator, CoordinatorStateFromProto(told.coordinator()));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckRounds(name, state.round, moved));
  return moved;
}

absl::Status StagedPartitions::CheckRounds(const MoveName& name, uint64_t round,
                                           const MovedPartition& moved) const {
  const std::string which = absl::StrCat("partition ", Raw(name.partition), ": ");
  if (moved.passed.round != round) {
    return absl::DataLossError(
        absl::StrCat(which, "it has passed round ", round, ", not ", moved.passed.round));
  }
  const bool coordinates = shard_.catalog().HasSync() && Raw(name.partition) == 0;
  if (coordinates != moved.coordinator.has_value()) {
    return absl::DataLossError(absl::StrCat(
        which, coordinates ? "no coordinator comes" : "a coordinator comes", " with it"));
  }
  if (!coordinates) return absl::OkStatus();
  if (moved.coordinator->last.round == round &&
      moved.coordinator->lanes.size() == shard_.catalog().lanes()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(which, "the coordinator of ", moved.coordinator->lanes.size(),
                   " lanes has closed round ", moved.coordinator->last.round, "; the job has ",
                   shard_.catalog().lanes(), " lanes, and the partition has passed round ", round));
}

void StagedPartitions::Follow() {
  const std::shared_ptr<const OwnView> view = shard_.view().newest();
  for (auto& [partition, moved] : TakeServed(*view)) {
    const std::optional<ViewedStandby> standby = view->Standby(partition);
    const absl::Status served = standby
                                    ? shard_.contents().Adopt(partition, std::move(moved), *standby)
                                    : shard_.contents().Serve(partition, std::move(moved));
    log::Info(standby ? "a backup has come" : "a partition has come",
              {{"partition", Raw(partition)}, {"end", served}});
  }
}

std::vector<std::pair<PartitionIndex, MovedPartition>> StagedPartitions::TakeServed(
    const OwnView& view) {
  std::vector<std::pair<PartitionIndex, MovedPartition>> served;
  absl::MutexLock lock(&mu_);
  Reap();
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto at = next++;
    Entry& entry = *at->second;
    const MoveName& name = entry.stage.name();
    const bool current = Timeline{view.timeline()} == name.timeline;
    if (current && view.Incoming(name.partition) == name.id) continue;
    const std::optional<ViewedStandby> standby = view.Standby(name.partition);
    const bool mine = current && (view.Received(name.partition) == name.id ||
                                  (standby && standby->move == name.id));
    if (mine && entry.moved && entry.expected) {
      served.emplace_back(name.partition, *std::exchange(entry.moved, std::nullopt));
    } else if (mine) {
      log::Warn("a partition is this shard's by the view, and has not come",
                {{"partition", Raw(name.partition)}});
    }
    Drop(at);
  }
  shard_.metrics().SetStagedBytes(BytesOfAll());
  return served;
}

void StagedPartitions::Drop(Entries::iterator at) {
  Entry& entry = *at->second;
  if (entry.expected && entry.moved)
    shard_.rounds().GiveUp(entry.moved->timeline, entry.moved->passed);
  CAPSTAN_FAILPOINT("move.stage_dropped");
  if (first_ == &entry) first_ = nullptr;
  dropped_.push_back(std::move(at->second));
  entries_.erase(at);
}

void StagedPartitions::Reap() {
  std::erase_if(dropped_, [](const auto& entry) { return !entry->stage.working(); });
}

size_t StagedPartitions::BytesOfAll() const {
  size_t bytes = 0;
  for (const auto& [partition, entry] : entries_) {
    bytes += entry->stage.bytes();
    if (entry->moved && entry->moved->content.store != nullptr) {
      bytes += entry->moved->content.store->memory_bytes();
    }
  }
  return bytes;
}

}  // namespace capstan::ps
