#include "chief/duties/move_duty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/status.h"

namespace capstan::chief {

void MoveDuty::Advance(absl::Time now) {
  const bool heard = std::exchange(job_->placement.heard_of_shards, false);
  const bool cancelled = CancelIfHindered(now);
  if (heard || cancelled) orders_->RefreshView(now);
  while (Step(/*plans=*/heard, now)) orders_->RefreshView(now);
}

void MoveDuty::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (!answer.IsTo<v1::MovePartitionsRequest>()) return;
  job_->placement.moves.OnAnswer(answer.shard, answer.reply, now, job_->calls);
}

// Cancels the batch under way if it cannot continue, or something has priority. Returns true if it
// did.
bool MoveDuty::CancelIfHindered(absl::Time now) {
  if (!job_->placement.moves.under_way() ||
      job_->placement.moves.phase() == PartitionMoves::Phase::kSwitched) {
    return false;
  }
  absl::Status why = WhatComesFirst(now);
  why.Update(Failure(now));
  if (why.ok()) return false;
  Cancel(why, now);
  return true;
}

// Returns CANCELLED if something has priority over the batch under way, with the reason.
absl::Status MoveDuty::WhatComesFirst(absl::Time now) const {
  if (job_->training.end.begun()) return absl::CancelledError("the job ends");
  if (job_->training.standstill.save)
    return absl::CancelledError("the best model so far is to be saved");
  if (!job_->recovery.partial.empty())
    return absl::CancelledError("a shard returns to a checkpoint");
  if (!job_->placement.ShardsToSave(now).empty())
    return absl::CancelledError("a shard leaves, and is saved");
  // The target is known: MemberDuty forgets no shard that a move concerns.
  const auto leaves = [this](const v1::PartitionMove& move) {
    return job_->placement.shards.Find(move.to())->draining;
  };
  const auto& moves = job_->placement.views.current().moves();
  if (std::any_of(moves.begin(), moves.end(), leaves)) {
    return absl::CancelledError("a shard that was to take partitions leaves");
  }
  return absl::OkStatus();
}

// Returns why the batch under way has failed; OK if it has not.
absl::Status MoveDuty::Failure(absl::Time now) const {
  CAPSTAN_RETURN_IF_ERROR(job_->placement.moves.Failure(now));
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    if (job_->placement.moves.Concerns(index) && job_->placement.hearing.IsSilent(shard, now)) {
      return absl::UnavailableError(absl::StrCat("shard ", index, " is silent"));
    }
  }
  for (const v1::PartitionMove& move : job_->placement.views.current().moves()) {
    if (move.hand_over() && job_->placement.views.PairOf(move.partition()) == nullptr) {
      return absl::UnavailableError(absl::StrCat("partition ", move.partition(),
                                                 " has lost the backup that it was to go to"));
    }
  }
  return absl::OkStatus();
}

// Takes one step. Returns true if the view has changed: there may be more to do once it is
// published. `plans`: shards may have changed, so a new plan may be due.
bool MoveDuty::Step(bool plans, absl::Time now) {
  if (job_->placement.moves.OnView(job_->placement.gate.published(), now, job_->calls)) {
    OnSwitched(now);
    return true;
  }
  FinishIfPossible(now);
  if (job_->placement.moves.done()) {
    job_->placement.moves.Switch();
    job_->placement.views.CarryOutMoves();
    return true;
  }
  if (!plans && !job_->placement.moves.planned()) return false;
  if (!MayMove(now)) return false;
  planner_.Plan(now);
  if (!job_->placement.moves.planned()) return false;
  Order(now);
  return true;
}

void MoveDuty::FinishIfPossible(absl::Time now) {
  if (!job_->placement.moves.copied()) return;
  if (MaySwitch()) return job_->placement.moves.Finish(now, job_->calls);
  job_->placement.moves.CatchUpIfDue(now, job_->calls);
}

// Returns true if nothing is under way that a switch would disturb. A stream that is closed on the
// source but not yet on the target would be open again after the switch; the gradients of an open
// round are staged at the former owners.
bool MoveDuty::MaySwitch() const {
  const bool at_rest = job_->training.work.has_lanes()
                           ? job_->training.barrier.reached()
                           : job_->training.standstill.step == Standstill::Step::kNone;
  const bool evaluates = job_->EvaluatesAtStandstill() && job_->training.evaluations.running();
  return at_rest && !evaluates && !job_->checkpoints.checkpointer.running() &&
         job_->training.closes.settled() && !job_->calls.Pending<v1::CloseStreamsRequest>() &&
         !job_->calls.Pending<v1::FlushRequest>();
}

void MoveDuty::OnSwitched(absl::Time now) {
  const v1::MoveStatus status = job_->placement.moves.Status();
  job_->outbox.Log(LogEvent::Level::kInfo, "partitions have moved, or have been given a backup",
                   {{"moved so far", absl::StrCat(status.moved())},
                    {"given a backup so far", absl::StrCat(status.paired())},
                    {"stood still for", absl::StrFormat("%.3f s", status.seconds())}});
  if (!job_->placement.moves.planned()) planner_.OnCarriedOut();
  // Releases the rounds, at the coordinator as of after the switch.
  if (job_->training.work.has_lanes()) job_->Resume();
  planner_.See(now);
}

// Returns true if a batch may begin. Checkpoints, evaluations that need a standstill, and the end
// of the job have priority; but they wait for a batch that is under way, as batches are small.
bool MoveDuty::MayMove(absl::Time now) const {
  const v1::View& published = job_->placement.gate.published();
  const bool stands_still =
      job_->training.standstill.step != Standstill::Step::kNone || job_->training.standstill.save ||
      (job_->EvaluatesAtStandstill() &&
       (job_->training.EvaluationDue() || job_->training.evaluations.running()));
  return job_->placement.moves.MayBegin(now) && !job_->training.end.begun() && !stands_still &&
         job_->recovery.partial.empty() && !job_->checkpoints.frozen &&
         job_->recovery.restoration.phase() == Recovery::Phase::kIdle &&
         !job_->checkpoints.checkpointer.running() && !job_->CheckpointDue(now) &&
         !job_->checkpoints.closed && job_->placement.ShardsToSave(now).empty() &&
         published.moves().empty() && published.timeline() == job_->placement.timeline();
}

void MoveDuty::Order(absl::Time now) {
  std::vector<v1::PartitionMove> moves;
  const auto bytes_of = [this](const PlannedMove& move) {
    return HandsOver(move) ? 0 : job_->placement.loads.bytes(move.partition);
  };
  for (const PlannedMove& planned : job_->placement.moves.Begin(bytes_of, now)) {
    v1::PartitionMove& move = moves.emplace_back();
    move.set_partition(planned.partition);
    move.set_to(planned.to);
    move.set_to_incarnation(Raw(job_->placement.shards.Find(planned.to)->incarnation));
    move.set_replica(planned.replica);
    move.set_hand_over(HandsOver(planned));
  }
  // A shard never has two copies of a partition: a backup that is to receive its partition by a
  // whole copy is dropped first. A backup that is to be replaced stays the backup until then
  // (docs/spec, rule 32).
  job_->placement.views.DropPairs([&moves](const v1::PartitionPair& pair) {
    return std::any_of(moves.begin(), moves.end(), [&pair](const v1::PartitionMove& move) {
      return move.partition() == pair.partition() && move.to() == pair.backup() &&
             !move.hand_over();
    });
  });
  job_->placement.views.SetMoves(moves);
}

// Returns true if the target has the partition already, as its backup.
bool MoveDuty::HandsOver(const PlannedMove& move) const {
  const v1::PartitionPair* const pair = job_->placement.views.PairOf(move.partition);
  return !move.replica && pair != nullptr && pair->backup() == move.to &&
         pair->backup_incarnation() == Raw(job_->placement.shards.Find(move.to)->incarnation);
}

void MoveDuty::Cancel(const absl::Status& why, absl::Time now) {
  if (!job_->placement.moves.under_way() && !job_->placement.moves.planned()) return;
  const bool failed = !absl::IsCancelled(why);
  job_->outbox.Log(failed ? LogEvent::Level::kWarning : LogEvent::Level::kInfo,
                   "moves of partitions are cancelled", {{"because", std::string(why.message())}});
  job_->placement.moves.Cancel(failed, now, job_->calls);
  job_->placement.views.ClearMoves();
  planner_.OnGivenUp();
}

}  // namespace capstan::chief
