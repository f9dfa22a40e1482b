#include "ps/transfer/mover.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::ps {
Mover::~Mover() {
  // Ends them after `lock` is released.
  std::vector<std::unique_ptr<Background::Work>> works;
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  for (auto& [partition, task] : tasks_) task->job.Cancel();
  for (Sender& sender : gentle_) works.push_back(std::move(sender.work));
  for (Sender& sender : hasty_) works.push_back(std::move(sender.work));
}

absl::Status Mover::Check(const v1::MovePartitionsRequest& request) const {
  if (request.partitions().empty()) return absl::InvalidArgumentError("no partition is named");
  for (const uint32_t partition : request.partitions()) {
    CAPSTAN_RETURN_IF_ERROR(shard_.catalog().CheckPartition(partition));
  }
  return absl::OkStatus();
}

absl::StatusOr<OutgoingMove> Mover::Named(const v1::MovePartitionsRequest& request,
                                          PartitionIndex partition) const {
  const std::shared_ptr<const OwnView> view = shard_.view().newest();
  const std::optional<OutgoingMove> named = view->Outgoing(partition);
  const ViewEpoch id = ViewEpochFromProto(request.id());
  if (named && named->id == id && view->timeline() == request.header().timeline()) return *named;
  const std::string what =
      absl::StrCat("view ", view->epoch().term, ".", view->epoch().n, " names no move ", id.term,
                   ".", id.n, " of partition ", Raw(partition), " from here");
  if (view->epoch() < id) return absl::UnavailableError(what);
  return absl::AbortedError(what);
}

absl::StatusOr<v1::MovePartitionsReply> Mover::Order(const v1::MovePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(Check(request));
  absl::MutexLock lock(&mu_);
  ForgetOver();
  pacer_.SetRate(request.bytes_per_second());
  CAPSTAN_RETURN_IF_ERROR(Begin(request));
  if (request.finish()) {
    CAPSTAN_RETURN_IF_ERROR(Freeze(request));
  } else {
    CatchUp(request);
  }
  StartSenders();
  return AnswerOf(request);
}

absl::Status Mover::Begin(const v1::MovePartitionsRequest& request) {
  std::vector<MoveJob::Order> fresh;
  for (const uint32_t number : request.partitions()) {
    const auto partition = static_cast<PartitionIndex>(number);
    CAPSTAN_ASSIGN_OR_RETURN(const OutgoingMove move, Named(request, partition));
    const auto found = tasks_.find(partition);
    if (found == tasks_.end()) {
      if (!shard_.partitions()[partition].loaded()) {
        return absl::AbortedError(absl::StrCat("partition ", number, " is not here"));
      }
      fresh.push_back({partition, request.header().timeline(), move});
    } else if (found->second->job.order().move.id != move.id) {
      return absl::UnavailableError(absl::StrCat("a move of partition ", number, " is ending"));
    }
  }
  if (fresh.empty()) return absl::OkStatus();
  if (!shard_.copies().Take(CopyTurn::Holder::kMoves)) {
    return absl::UnavailableError("a checkpoint is being saved");
  }
  for (const MoveJob::Order& order : fresh) {
    tasks_.try_emplace(order.partition, std::make_unique<Task>(shard_, means_, order));
  }
  shard_.metrics().SetMovesUnderWay(tasks_.size());
  return absl::OkStatus();
}

std::vector<Mover::Task*> Mover::TasksOf(const v1::MovePartitionsRequest& request) const {
  std::vector<Task*> tasks;
  for (const uint32_t number : request.partitions()) {
    tasks.push_back(tasks_.at(static_cast<PartitionIndex>(number)).get());
  }
  return tasks;
}

void Mover::CatchUp(const v1::MovePartitionsRequest& request) {
  const std::vector<Task*> tasks = TasksOf(request);
  const bool all_told = std::all_of(tasks.begin(), tasks.end(), [](const Task* task) {
    return task->phase == Phase::kCopied && task->told;
  });
  if (!all_told) return;
  for (Task* task : tasks) {
    task->phase = Phase::kBehind;
    task->told = false;
  }
}

absl::Status Mover::Freeze(const v1::MovePartitionsRequest& request) {
  const std::vector<Task*> tasks = TasksOf(request);
  if (std::any_of(tasks.begin(), tasks.end(),
                  [](const Task* task) { return task->phase != Phase::kCopied; })) {
    return absl::OkStatus();  // Some are not copied yet, have been frozen before, or have failed.
  }
  absl::Status status;
  auto next = tasks.begin();
  while (next != tasks.end() && status.ok()) status = (*next++)->job.Freeze();
  if (status.ok()) {
    for (Task* task : tasks) task->phase = Phase::kToFinish;
    return status;
  }
  for (auto frozen = tasks.begin(); frozen != std::prev(next); ++frozen) (*frozen)->job.Thaw();
  return status;
}

absl::StatusOr<v1::MovePartitionsReply> Mover::AnswerOf(const v1::MovePartitionsRequest& request) {
  v1::MovePartitionsReply reply;
  reply.set_copied(true);
  reply.set_done(request.finish());
  for (const uint32_t number : request.partitions()) {
    const Task& task = *tasks_.at(static_cast<PartitionIndex>(number));
    if (task.phase == Phase::kFailed) {
      return absl::AbortedError(absl::StrCat("partition ", number, ": ", task.status.message()));
    }
    if (task.phase < Phase::kCopied) reply.set_copied(false);
    if (task.phase != Phase::kDone) reply.set_done(false);
    reply.set_bytes(reply.bytes() + task.job.bytes());
    reply.set_bytes_expected(reply.bytes_expected() +
                             std::max(task.job.bytes(), task.job.bytes_expected()));
  }
  for (Task* task : TasksOf(request)) task->told = reply.copied();
  return reply;
}

void Mover::StartSenders() {
  StartSenders(Haste::kHasty, absl::MakeSpan(hasty_), threads_.hasty);
  StartSenders(Haste::kGentle, absl::MakeSpan(gentle_), threads_.gentle);
}

void Mover::StartSenders(Haste haste, absl::Span<Sender> senders, Background& threads) {
  auto left = std::count_if(tasks_.begin(), tasks_.end(), [haste](const auto& entry) {
    return haste == Haste::kHasty ? entry.second->waits_for_rest() : entry.second->waits_for_copy();
  });
  for (Sender& sender : senders) {
    if (sender.running || left-- <= 0) continue;
    sender.work.reset();  // The work has ended.
    sender.running = true;
    sender.work = threads.Begin([this, haste, &sender] { Send(haste, sender); });
  }
}

Mover::Task* Mover::NextToSend(Haste haste) {
  if (stopping_) return nullptr;
  const auto find = [this](Phase waiting, Phase then) -> Task* {
    mu_.AssertHeld();
    for (auto& [partition, task] : tasks_) {
      if (task->phase != waiting) continue;
      task->phase = then;
      return task.get();
    }
    return nullptr;
  };
  if (haste == Haste::kHasty) return find(Phase::kToFinish, Phase::kFinishing);
  // Copies come before changes: what is copied later has more changes to catch up with.
  Task* const copy = find(Phase::kToCopy, Phase::kCopying);
  return copy != nullptr ? copy : find(Phase::kBehind, Phase::kCatchingUp);
}

void Mover::Send(Haste haste, Sender& sender) {
  for (;;) {
    Task* task = nullptr;
    {
      absl::MutexLock lock(&mu_);
      ForgetOver();
      task = NextToSend(haste);
      if (task == nullptr) {
        sender.running = false;
        return;
      }
    }
    SendOne(*task);
  }
}

std::unique_ptr<MovePeer> Mover::TakePeer(const std::string& address) {
  {
    absl::MutexLock lock(&mu_);
    const auto idle = idle_peers_.find(address);
    if (idle != idle_peers_.end()) return std::move(idle_peers_.extract(idle).mapped());
  }
  return open_peer_(address);
}

absl::StatusOr<Mover::Phase> Mover::Carry(Task& task, MovePeer& peer) {
  switch (task.phase) {  // Only this thread changes the phase while it sends.
    case Phase::kCopying:
      CAPSTAN_RETURN_IF_ERROR(task.job.SendCopy(peer));
      return Phase::kBehind;
    case Phase::kCatchingUp: {
      CAPSTAN_ASSIGN_OR_RETURN(const bool little_is_left, task.job.SendChanges(peer));
      return little_is_left ? Phase::kCopied : Phase::kBehind;
    }
    default:
      CAPSTAN_RETURN_IF_ERROR(task.job.SendRest(peer));
      return Phase::kDone;
  }
}

void Mover::SendOne(Task& task) {
  const MoveJob::Order& order = task.job.order();
  std::unique_ptr<MovePeer> peer = TakePeer(order.move.address);
  const absl::StatusOr<Phase> next = Carry(task, *peer);
  const bool over = task.job.IsOver();
  if (!next.ok() && !over) {
    log::Warn("a partition could not be sent", {{"partition", Raw(order.partition)},
                                                {"to", order.move.address},
                                                {"error", next.status()}});
  }
  absl::MutexLock lock(&mu_);
  idle_peers_.emplace(order.move.address, std::move(peer));
  task.status = next.status();
  task.phase = next.ok() ? *next : Phase::kFailed;
}

void Mover::ForgetOver() {
  for (auto entry = tasks_.begin(); entry != tasks_.end();) {
    const Task& task = *entry->second;
    entry = !task.running() && task.job.IsOver() ? tasks_.erase(entry) : std::next(entry);
  }
  shard_.metrics().SetMovesUnderWay(tasks_.size());
  if (!tasks_.empty()) return;
  shard_.copies().Release(CopyTurn::Holder::kMoves);
  idle_peers_.clear();
}

void Mover::Follow() {
  const std::shared_ptr<const OwnView> view = shard_.view().newest();
  std::vector<PartitionIndex> left;
  {
    absl::MutexLock lock(&mu_);
    if (view->timeline() == shard_.timeline()) {
      (void)shard_.partitions().ForEachServed([&](PartitionIndex index, Partition&) {
        if (FollowPartition(index, *view)) left.push_back(index);
        return absl::OkStatus();
      });
    }
    ForgetOver();
  }
  for (const PartitionIndex index : left) Leave(index);
}

bool Mover::FollowPartition(PartitionIndex index, const OwnView& view) {
  Partition& partition = shard_.partitions()[index];
  if (const std::optional<ViewedStandby> standby = view.Standby(index)) {
    if (const std::optional<absl::Duration> frozen = shard_.backups().StandDown(index, *standby)) {
      shard_.metrics().ObserveFrozen(*frozen);
      return false;
    }
  }
  if (const std::optional<ViewEpoch> copy = view.Received(index)) partition.TakeName(*copy);
  if (view.Disowns(index, partition.origin())) return true;
  if (!view.Owns(index)) return false;  // If it is frozen, it stays so.
  const std::optional<OutgoingMove> named = view.Outgoing(index);
  const std::optional<absl::Duration> frozen =
      partition.ThawUnless(named ? std::optional(named->id) : std::nullopt, shard_.clock().Now());
  if (!frozen) return false;
  if (Raw(index) == 0) shard_.coordinator().Resume();
  shard_.metrics().ObserveFrozen(*frozen);
  return false;
}

void Mover::Leave(PartitionIndex index) {
  const std::optional<absl::Duration> frozen =
      shard_.partitions()[index].FrozenFor(shard_.clock().Now());
  shard_.contents().Leave(index);
  if (frozen) shard_.metrics().ObserveFrozen(*frozen);
  log::Info("a partition has left", {{"partition", Raw(index)}});
}

}  // namespace capstan::ps
