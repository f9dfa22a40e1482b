#include "ps/shard/mover.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

ViewEpoch IdOf(const v1::MovePartitionsRequest& request) {
  return {request.id().term(), request.id().n()};
}

}  // namespace

Mover::~Mover() {
  std::array<Sender, kAtOnce> senders;  // End without the lock.
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  for (auto& [partition, task] : tasks_) task->job.Cancel();
  std::swap(senders, senders_);
}

absl::Status Mover::Check(const v1::MovePartitionsRequest& request) const {
  if (request.partitions().empty()) return absl::InvalidArgumentError("no partition is named");
  for (const uint32_t partition : request.partitions()) {
    if (partition >= shard_.catalog().job().partition_count()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no partition ", partition));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<OutgoingMove> Mover::Named(const v1::MovePartitionsRequest& request,
                                          PartitionIndex partition) const {
  const std::shared_ptr<const PartitionMoves> moves = shard_.moves();
  const std::optional<OutgoingMove> named = moves->Outgoing(partition);
  const ViewEpoch id = IdOf(request);
  if (named && named->id == id && moves->timeline() == request.header().timeline()) return *named;
  const std::string what =
      absl::StrCat("view ", moves->epoch().term, ".", moves->epoch().n, " names no move ", id.term,
                   ".", id.n, " of partition ", Raw(partition), " from here");
  if (moves->epoch() < id) return absl::UnavailableError(what);
  return absl::AbortedError(what);
}

absl::StatusOr<v1::MovePartitionsReply> Mover::Order(const v1::MovePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(Check(request));
  absl::MutexLock lock(&mu_);
  ForgetOver();
  pacer_.SetRate(request.bytes_per_second());
  CAPSTAN_RETURN_IF_ERROR(Begin(request));
  if (request.finish()) CAPSTAN_RETURN_IF_ERROR(Freeze(request));
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
      if (!shard_.partition(partition).loaded()) {
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
    tasks_.try_emplace(order.partition, std::make_unique<Task>(shard_, pacer_, order));
  }
  shard_.metrics().SetMovesUnderWay(tasks_.size());
  return absl::OkStatus();
}

absl::Status Mover::Freeze(const v1::MovePartitionsRequest& request) {
  std::vector<Task*> frozen;
  absl::Status status;
  for (const uint32_t number : request.partitions()) {
    Task& task = *tasks_.at(static_cast<PartitionIndex>(number));
    if (task.stage != Stage::kCopied) continue;
    status = task.job.Freeze();
    if (!status.ok()) break;
    task.stage = Stage::kToFinish;
    frozen.push_back(&task);
  }
  if (status.ok()) return status;
  for (Task* task : frozen) {
    task->job.Thaw();
    task->stage = Stage::kCopied;
  }
  return status;
}

absl::StatusOr<v1::MovePartitionsReply> Mover::AnswerOf(
    const v1::MovePartitionsRequest& request) const {
  v1::MovePartitionsReply reply;
  reply.set_copied(true);
  reply.set_done(request.finish());
  for (const uint32_t number : request.partitions()) {
    const Task& task = *tasks_.at(static_cast<PartitionIndex>(number));
    if (task.stage == Stage::kFailed) {
      return absl::AbortedError(absl::StrCat("partition ", number, ": ", task.status.ToString()));
    }
    if (task.stage < Stage::kCopied) reply.set_copied(false);
    if (task.stage != Stage::kDone) reply.set_done(false);
    reply.set_bytes(reply.bytes() + task.job.bytes());
    reply.set_bytes_expected(reply.bytes_expected() +
                             std::max(task.job.bytes(), task.job.bytes_expected()));
  }
  return reply;
}

void Mover::StartSenders() {
  auto left = std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return entry.second->stage == Stage::kToCopy || entry.second->stage == Stage::kToFinish;
  });
  for (Sender& sender : senders_) {
    if (sender.running || left-- <= 0) continue;
    sender.work.reset();  // It has ended.
    sender.running = true;
    sender.work = background_.Begin([this, &sender] { Send(sender); });
  }
}

Mover::Task* Mover::NextToSend() {
  for (auto& [partition, task] : tasks_) {
    if (stopping_) return nullptr;
    if (task->stage == Stage::kToFinish) {  // Pushes wait for these.
      task->stage = Stage::kFinishing;
      return task.get();
    }
  }
  for (auto& [partition, task] : tasks_) {
    if (stopping_ || task->stage != Stage::kToCopy) continue;
    task->stage = Stage::kCopying;
    return task.get();
  }
  return nullptr;
}

void Mover::Send(Sender& sender) {
  for (;;) {
    Task* task = nullptr;
    {
      absl::MutexLock lock(&mu_);
      ForgetOver();
      task = NextToSend();
      if (task == nullptr) {
        sender.running = false;
        return;
      }
    }
    SendOne(*task);
  }
}

void Mover::SendOne(Task& task) {
  const MoveJob::Order& order = task.job.order();
  const bool copies = task.stage == Stage::kCopying;  // Only this thread changes it.
  const std::unique_ptr<MovePeer> peer = open_peer_(order.move.address);
  const absl::Status status = copies ? task.job.SendCopy(*peer) : task.job.SendRest(*peer);
  const bool over = task.job.IsOver();
  if (!status.ok() && !over) {
    log::Warn("a partition could not be sent", {{"partition", Raw(order.partition)},
                                                {"to", order.move.address},
                                                {"error", status}});
  }
  absl::MutexLock lock(&mu_);
  task.status = status;
  task.stage = !status.ok() ? Stage::kFailed : copies ? Stage::kCopied : Stage::kDone;
}

void Mover::ForgetOver() {
  for (auto entry = tasks_.begin(); entry != tasks_.end();) {
    const Task& task = *entry->second;
    entry = !task.running() && task.job.IsOver() ? tasks_.erase(entry) : std::next(entry);
  }
  shard_.metrics().SetMovesUnderWay(tasks_.size());
  if (tasks_.empty()) shard_.copies().Release(CopyTurn::Holder::kMoves);
}

void Mover::Follow() {
  const std::shared_ptr<const PartitionMoves> moves = shard_.moves();
  absl::MutexLock lock(&mu_);
  if (moves->timeline() == shard_.timeline()) {
    (void)shard_.ForEachPartition([&](PartitionIndex index, Partition&) {
      FollowPartition(index, *moves);
      return absl::OkStatus();
    });
  }
  ForgetOver();
}

void Mover::FollowPartition(PartitionIndex index, const PartitionMoves& moves) {
  Partition& partition = shard_.partition(index);
  const absl::Time now = shard_.clock().Now();
  std::optional<absl::Duration> frozen;
  if (moves.Disowns(index, partition.origin())) {
    frozen = partition.FrozenFor(now);
    shard_.Leave(index);
    log::Info("a partition has left", {{"partition", Raw(index)}});
  } else {
    const std::optional<OutgoingMove> named = moves.Outgoing(index);
    frozen = partition.ThawUnless(named ? std::optional(named->id) : std::nullopt, now);
    if (frozen && Raw(index) == 0) shard_.ResumeCoordinator();
  }
  if (frozen) shard_.metrics().ObserveFrozen(*frozen);
}

}  // namespace capstan::ps
