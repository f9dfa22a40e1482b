#include "chief/duties/duties.h"

namespace capstan::chief {

void Duties::Advance(absl::Time now) {
  if (job_->writer.superseded()) return;
  end.CompleteIfSaved(now);
  checkpoints.AnswerIfEnded();
  if (!promotion.ReplaceThoseThatDidNotComeBack(now)) {
    if (!job_->takeover.settled()) members.GiveUpThoseThatLeft(now);
    takeover.Advance(now);
  }
  if (job_->state == v1::JOB_STATE_PENDING) recovery.Start(now);
  promotion.Listen(now);
  promotion.ReplaceLost(now);
  pairs.Drop(now);
  if (promotion.under_way()) {
    state.RefreshView(now);
    promotion.OnView(now);
    if (promotion.under_way()) return calls.Send(now);
  }
  if (job_->recovery.restoration.phase() != Recovery::Phase::kIdle && !job_->ended()) {
    members.RestoreWithoutThoseThatLeft(now);
    recovery.Advance(now);
  }
  if (job_->running()) {
    training.Advance(now);
    closes.Advance();
    evaluation.Advance(now);
    standstill.Advance(now);
    partial.Advance(now);
  }
  end.Advance(now);
  checkpoints.Advance(now);
  state.RefreshView(now);
  if (job_->running()) {
    if (job_->placement.heard_of_shards) {
      members.Advance(now);
      moves.planner().See(now);
      members.GiveUpThoseThatLeft(now);
    }
    moves.Advance(now);
  }
  model.Advance(now);
  if (job_->ended() && !model.loads()) return;
  loads.Send();
  calls.Send(now);
}

void Duties::Tick(absl::Time now) {
  grants.ReleaseSilent(now);
  watch.WatchStragglers(now);
  watch.WatchData();
  shards.WatchSpares(now);
  watch.WatchIdleWorkers();
  watch.WatchOpenFilesOfShards();
  watch.WatchMemory(now);
  moves.planner().WatchReplicas(now);
  watch.LogWaiting(now);
  calls.CheckRefusal();
  job_->placement.heard_of_shards = true;  // Shards may have become silent.
  Advance(now);
  training.DrawCurve(now);
}

void Duties::ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) {
  CancelMoves(absl::CancelledError("the job returns to a checkpoint"), now);
  promotion.Forget();
  recovery.Return(cause, shard, now);
}

void Duties::GoOnFromCheckpoint(std::string_view cause, absl::Time now) {
  ReturnToCheckpoint(cause, 0, now);
  recovery.GoesOn();
}

void Duties::RecoverPartially(uint32_t shard, absl::Time now) { partial.Begin(shard, now); }

void Duties::GiveUpPartialRecovery(const absl::Status& why, absl::Time now) {
  partial.GiveUp(why, now);
}

void Duties::CancelMoves(const absl::Status& why, absl::Time now) { moves.Cancel(why, now); }

void Duties::RefreshView(absl::Time now) { state.RefreshView(now); }

}  // namespace capstan::chief
