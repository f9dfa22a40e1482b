#include "chief/duties/takeover_duty.h"

#include "absl/strings/str_cat.h"

namespace capstan::chief {

void TakeoverDuty::Advance(absl::Time now) {
  if (job_->state != v1::JOB_STATE_RUNNING) return;
  if (job_->takeover.complete(now)) job_->placement.views.ForgetTrainers();
  if (job_->takeover.settled()) return;
  if (MapIsOver(now)) {
    job_->takeover.Settle();
    job_->placement.views.ForgetMap();
    job_->state = v1::JOB_STATE_PENDING;
    return;
  }
  switch (job_->takeover.shards(job_->placement.shards)) {
    case Takeover::Shards::kAwaited:
      return;
    case Takeover::Shards::kBack:
      job_->takeover.Settle();
      if (job_->training.work.has_lanes()) {
        job_->training.barrier.Release(job_->placement.views.coordinator(),
                                       job_->options.call_deadline, job_->calls);
      }
      job_->outbox.Log(LogEvent::Level::kInfo, "this chief goes on where the one before ended",
                       {{"term", absl::StrCat(job_->options.term)},
                        {"examples", absl::StrCat(job_->training.progress.examples())}});
      return;
    case Takeover::Shards::kChanged:
      break;
  }
  if (AnotherMapMayCome(now)) return;
  const std::set<uint32_t> awaited = job_->takeover.Awaited(job_->placement.shards);
  if (job_->MayRecoverPartially() && !awaited.empty()) return;
  // If all shards come back without what they had, all return to a checkpoint: what is lost is
  // trained again.
  const std::set<uint32_t> changed = job_->takeover.Changed(job_->placement.shards);
  constexpr char kAnew[] = "chief and shards were started anew";
  if (job_->takeover.AllChanged(job_->placement.shards))
    return orders_->GoOnFromCheckpoint(kAnew, now);
  if (!job_->MayRecoverPartially()) return orders_->ReturnToCheckpoint(kAnew, 0, now);
  // A shard that recovers partially is sent the progress of the tasks, which workers report.
  if (!job_->takeover.complete(now)) return;
  job_->takeover.Settle();
  for (uint32_t shard : changed) orders_->RecoverPartially(shard, now);
}

// Returns true if the job was restarted with another number of shards, so that all return to a
// checkpoint with a map over the wished shards. These must all be present. If there are fewer than
// before, the others must have had a worker's lease to come back; if there are more, all shards of
// the old map must have come back without what they had.
bool TakeoverDuty::MapIsOver(absl::Time now) const {
  if (!job_->placement.shards.complete()) return false;
  const std::set<uint32_t> awaited = job_->takeover.Awaited(job_->placement.shards);
  if (!awaited.empty())
    return *awaited.begin() >= job_->options.shards && job_->takeover.patience_over(now);
  return job_->placement.views.owners().size() < job_->placement.shards.quorum() &&
         job_->placement.views.owners().size() < job_->placement.shards.most() &&
         job_->takeover.AllChanged(job_->placement.shards);
}

// Returns true while shards may still come with which MapIsOver() would be true. If they do not
// come in time, the old map is kept: the number of shards was changed by hand while the job ran.
bool TakeoverDuty::AnotherMapMayCome(absl::Time now) const {
  const std::set<uint32_t> awaited = job_->takeover.Awaited(job_->placement.shards);
  if (!awaited.empty() && *awaited.rbegin() >= job_->options.shards) return true;
  return job_->placement.views.owners().size() < job_->placement.shards.quorum() &&
         !job_->placement.shards.complete() && job_->takeover.AllChanged(job_->placement.shards) &&
         !job_->takeover.patience_over(now);
}

}  // namespace capstan::chief
