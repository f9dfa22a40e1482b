#include "chief/duties/move_duty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/status.h"

namespace capstan::chief {

bool MoveDuty::CancelIfHindered(absl::Time now) {
  if (!job_->moves.under_way() || job_->moves.phase() == PartitionMoves::Phase::kSwitched) {
    return false;
  }
  absl::Status why = WhatComesFirst(now);
  why.Update(Failure(now));
  if (why.ok()) return false;
  Cancel(why, now);
  return true;
}

// OK, or what comes before the batch under way.
absl::Status MoveDuty::WhatComesFirst(absl::Time now) const {
  if (job_->end.begun()) return absl::CancelledError("the job ends");
  if (job_->rest.save) return absl::CancelledError("the best model so far is to be saved");
  if (!job_->partial.empty()) return absl::CancelledError("a shard returns to a checkpoint");
  if (!job_->ShardsToSave(now).empty()) return absl::CancelledError("a shard leaves, and is saved");
  // A shard that a move concerns is not forgotten (MemberDuty).
  const auto leaves = [this](const v1::PartitionMove& move) {
    return job_->shards.Find(move.to())->draining;
  };
  const auto& moves = job_->views.current().moves();
  if (std::any_of(moves.begin(), moves.end(), leaves)) {
    return absl::CancelledError("a shard that was to take partitions leaves");
  }
  return absl::OkStatus();
}

// OK, or why the batch under way cannot go on.
absl::Status MoveDuty::Failure(absl::Time now) const {
  CAPSTAN_RETURN_IF_ERROR(job_->moves.Failure(now));
  for (const auto& [index, shard] : job_->shards.shards()) {
    if (job_->moves.Concerns(index) && job_->hearing.IsSilent(shard, now)) {
      return absl::UnavailableError(absl::StrCat("shard ", index, " is silent"));
    }
  }
  for (const v1::PartitionMove& move : job_->views.current().moves()) {
    if (move.hand_over() && job_->views.PairOf(move.partition()) == nullptr) {
      return absl::UnavailableError(absl::StrCat("partition ", move.partition(),
                                                 " has lost the backup that it was to go to"));
    }
  }
  return absl::OkStatus();
}

// True: the view has changed, and there may be more to do once it is published. `plans`: something
// may be different about the shards.
bool MoveDuty::Step(bool plans, absl::Time now) {
  if (job_->moves.OnView(job_->gate.published(), now, job_->calls)) {
    OnSwitched(now);
    return true;
  }
  if (job_->moves.copied() && MaySwitch()) job_->moves.Finish(now, job_->calls);
  if (job_->moves.done()) {
    job_->moves.Switch();
    job_->views.CarryOutMoves();
    return true;
  }
  if (!plans && !job_->moves.planned()) return false;
  if (!MayMove(now)) return false;
  planner_.Plan(now);
  if (!job_->moves.planned()) return false;
  Order(now);
  return true;
}

// What a switch would disturb is over. Streams closed on the source and not yet on the target would
// be open there; a round has its gradients where its partitions were.
bool MoveDuty::MaySwitch() const {
  const bool at_rest =
      job_->work.has_lanes() ? job_->barrier.reached() : job_->rest.step == Rest::Step::kNone;
  const bool evaluates = job_->EvaluatesAtRest() && job_->evaluations.running();
  return at_rest && !evaluates && !job_->checkpointer.running() && job_->closes.settled() &&
         !job_->calls.Pending(Purpose::kClose) && !job_->calls.Pending(Purpose::kFlush);
}

void MoveDuty::OnSwitched(absl::Time now) {
  const v1::MoveStatus status = job_->moves.Status();
  job_->outbox.Log(LogEvent::Level::kInfo, "partitions have moved, or have been given a backup",
                   {{"moved so far", absl::StrCat(status.moved())},
                    {"given a backup so far", absl::StrCat(status.paired())},
                    {"stood still for", absl::StrFormat("%.3f s", status.seconds())}});
  if (!job_->moves.planned()) planner_.OnCarriedOut();
  // The rounds were held where the coordinator was.
  if (job_->work.has_lanes()) job_->Resume();
  planner_.See(now);
}

// Checkpoints, evaluations that need rest and the way out come first; a batch that is under way is
// small, and they wait for it.
bool MoveDuty::MayMove(absl::Time now) const {
  const v1::View& published = job_->gate.published();
  const bool rests =
      job_->rest.step != Rest::Step::kNone || job_->rest.save ||
      (job_->EvaluatesAtRest() && (job_->EvaluationDue() || job_->evaluations.running()));
  return job_->moves.MayBegin(now) && !job_->end.begun() && !rests && job_->partial.empty() &&
         !job_->frozen && job_->recovery.phase() == Recovery::Phase::kIdle &&
         !job_->checkpointer.running() && !job_->CheckpointDue(now) && !job_->closed &&
         job_->ShardsToSave(now).empty() && published.moves().empty() &&
         published.timeline() == job_->timeline();
}

void MoveDuty::Order(absl::Time now) {
  std::vector<v1::PartitionMove> moves;
  const auto bytes_of = [this](const PlannedMove& move) {
    return HandsOver(move) ? 0 : job_->loads.bytes(move.partition);
  };
  for (const PlannedMove& planned : job_->moves.Begin(bytes_of, now)) {
    v1::PartitionMove& move = moves.emplace_back();
    move.set_partition(planned.partition);
    move.set_to(planned.to);
    move.set_to_incarnation(Raw(job_->shards.Find(planned.to)->incarnation));
    move.set_replica(planned.replica);
    move.set_hand_over(HandsOver(planned));
  }
  // Nobody has two copies of a partition, and none has two backups.
  job_->views.DropPairs([&moves](const v1::PartitionPair& pair) {
    return std::any_of(moves.begin(), moves.end(), [&pair](const v1::PartitionMove& move) {
      const bool anew = move.to() == pair.backup() && !move.hand_over();
      return move.partition() == pair.partition() && (move.replica() || anew);
    });
  });
  job_->views.SetMoves(moves);
}

// The target has the partition already: as its backup.
bool MoveDuty::HandsOver(const PlannedMove& move) const {
  const v1::PartitionPair* const pair = job_->views.PairOf(move.partition);
  return !move.replica && pair != nullptr && pair->backup() == move.to &&
         pair->backup_incarnation() == Raw(job_->shards.Find(move.to)->incarnation);
}

void MoveDuty::Cancel(const absl::Status& why, absl::Time now) {
  if (!job_->moves.under_way() && !job_->moves.planned()) return;
  const bool failed = !absl::IsCancelled(why);
  job_->outbox.Log(failed ? LogEvent::Level::kWarning : LogEvent::Level::kInfo,
                   "moves of partitions are cancelled", {{"because", std::string(why.message())}});
  job_->moves.Cancel(failed, now, job_->calls);
  job_->views.ClearMoves();
  planner_.OnGivenUp();
}

}  // namespace capstan::chief
