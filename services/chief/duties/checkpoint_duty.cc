#include "chief/duties/checkpoint_duty.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace capstan::chief {
namespace {

constexpr size_t kMaxAskers = 64;

constexpr double kMebibyte = 1 << 20;

// Returns true if the checkpoint has exactly the metrics of this evaluation. A NaN equals a NaN
// here.
bool IsOf(const CheckpointFacts& facts, const v1::Evaluation& evaluation) {
  const auto& metrics = evaluation.metrics();
  return facts.metrics.size() == metrics.size() &&
         std::all_of(metrics.begin(), metrics.end(), [&facts](const auto& metric) {
           const auto found = facts.metrics.find(metric.first);
           if (found == facts.metrics.end()) return false;
           return found->second == metric.second ||
                  (std::isnan(found->second) && std::isnan(metric.second));
         });
}

}  // namespace

void CheckpointDuty::Ask(uint64_t asker) {
  job_->checkpoints.askers.push_back(asker);
  if (!job_->checkpoints.checkpointer.enabled()) {
    Answer(absl::FailedPreconditionError("the job has no checkpoint.uri"));
  } else if (job_->ended() || job_->state == v1::JOB_STATE_PENDING) {
    Answer(absl::FailedPreconditionError("the job is not running"));
  } else if (job_->checkpoints.askers.size() > kMaxAskers) {
    job_->checkpoints.askers.pop_back();
    job_->outbox.Add(AnswerCheckpoint{
        asker, absl::ResourceExhaustedError(absl::StrCat(kMaxAskers, " wait for it already"))});
  }
}

void CheckpointDuty::AnswerIfEnded() {
  if (!job_->ended()) return;
  const bool failed = job_->state == v1::JOB_STATE_FAILED;
  Answer(absl::FailedPreconditionError(failed ? "the job has failed" : "the job is completed"));
}

void CheckpointDuty::Advance(absl::Time now) {
  AnswerIfEnded();
  if (prune_ && job_->writer.IsStored(*prune_)) Prune();
  SeeOpenings();
  if (job_->checkpoints.checkpointer.Overdue(now)) {
    job_->checkpoints.checkpointer.Abandon(
        absl::DeadlineExceededError("nothing has moved for too long"), now, job_->calls);
    OnFailed();
  }
  // A shard that leaves must be saved with its last update: an attempt in which it does not freeze
  // is given up, and another one is begun.
  for (uint32_t shard : job_->placement.ShardsToSave(now)) {
    if (job_->checkpoints.checkpointer.saving() && !job_->checkpoints.checkpointer.leaves(shard) &&
        !job_->training.end.begun()) {
      job_->checkpoints.checkpointer.Abandon(absl::CancelledError("a shard leaves"), now,
                                             job_->calls);
    }
  }
  if (std::optional<DeleteCheckpoints> garbage = job_->checkpoints.checkpointer.TakeGarbage()) {
    job_->outbox.Add(*std::move(garbage));
  }
  if (std::optional<WriteManifest> manifest = job_->checkpoints.checkpointer.TakeManifest()) {
    job_->outbox.Add(*std::move(manifest));
  }
  if (job_->ended()) return;
  LeaveIntervalOut(now);
  // EndDuty sets `saving` only after the pause that follows a failed attempt.
  if (job_->training.end.saving && !job_->checkpoints.checkpointer.running()) return Begin(now);
  if (!job_->CheckpointWanted(now) || job_->calls.Pending<v1::CloseStreamsRequest>()) return;
  if ((job_->training.work.has_lanes() ||
       job_->training.standstill.step != Standstill::Step::kNone) &&
      !job_->training.AtStandstill())
    return;
  Begin(now);
}

// If nothing has changed since the newest checkpoint, skips this interval: an identical checkpoint
// would replace an older one that is kept.
void CheckpointDuty::LeaveIntervalOut(absl::Time now) {
  Checkpoints& checkpoints = job_->checkpoints;
  if (!job_->running() || !checkpoints.checkpointer.Due(now) || !job_->NothingSinceCheckpoint()) {
    return;
  }
  checkpoints.checkpointer.StartClock(now);
  checkpoints.left_out = now;
}

// Once all shards have accepted the order of an attempt without `freeze`, those that an earlier
// attempt has frozen are reopened.
void CheckpointDuty::SeeOpenings() {
  if (job_->checkpoints.checkpointer.marked() && job_->checkpoints.checkpointer.leaving().empty())
    job_->checkpoints.closed = false;
}

// When a shard leaves by a checkpoint, all others will return to it, unless the shard recovers
// partially. What they trained after it would be lost, so all of them freeze.
std::set<uint32_t> CheckpointDuty::FreezingShards(absl::Time now) const {
  const std::set<uint32_t> leaving = job_->placement.ShardsToSave(now);
  if (leaving.empty() || job_->partial_recovery()) return leaving;
  return job_->placement.views.owners();
}

// The progress is recorded before the shards are ordered to save, so that what they save contains
// at least all of it.
void CheckpointDuty::Begin(absl::Time now) {
  job_->checkpoints.begun = job_->MarkOfNow();
  job_->recovery.lost_updates.BeginCheckpoint();
  job_->training.closes.log().BeginCheckpoint(job_->training.closes.Unconfirmed());
  job_->checkpoints.closed = job_->checkpoints.closed || !FreezingShards(now).empty();
  job_->checkpoints.checkpointer.Begin({.manifest = ManifestOfNow(now),
                                        .parent = ParentOfNext(),
                                        .shards = job_->placement.Owners(),
                                        .leaving = FreezingShards(now)},
                                       now, job_->calls);
}

v1::Manifest CheckpointDuty::ManifestOfNow(absl::Time now) const {
  v1::Manifest manifest;
  manifest.set_step(job_->training.progress.steps());
  manifest.set_timeline(job_->placement.timeline());
  *manifest.mutable_job() = job_->plan.spec;
  *manifest.mutable_progress() = job_->training.ProgressOfNow();
  for (const v1::StreamClose& close : job_->training.closes.Unconfirmed())
    *manifest.add_unclosed() = close;
  manifest.set_elapsed_seconds(job_->training.progress.elapsed_seconds(now));
  // Set only at a standstill, when the evaluated parameters are those that are saved.
  if (const auto& evaluation = job_->training.standstill.evaluation) {
    *manifest.mutable_metrics() = evaluation->metrics();
    manifest.set_held_out(evaluation->held_out());
  }
  return manifest;
}

std::string CheckpointDuty::ParentOfNext() const {
  const CheckpointFacts* newest = job_->checkpoints.catalog.newest();
  if (newest == nullptr || newest->timeline < job_->recovery.first_timeline) return "";
  const std::optional<uint32_t> deltas = job_->checkpoints.catalog.DeltasOf(newest->id);
  return deltas && *deltas < job_->plan.spec.checkpoint().max_deltas() ? newest->id : "";
}

void CheckpointDuty::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (!answer.IsTo<v1::SavePartitionsRequest>()) return;
  if (answer.reply.ok()) {
    job_->checkpoints.checkpointer.OnSaved(
        answer.shard, answer.reply->Get<v1::SavePartitionsReply>(), now, job_->calls);
    return;
  }
  job_->checkpoints.checkpointer.Abandon(answer.reply.status(), now, job_->calls);
  OnFailed();
}

void CheckpointDuty::OnManifestWritten(const std::string& uri, const absl::Status& written,
                                       absl::Time now) {
  if (!job_->checkpoints.checkpointer.AwaitsManifestOf(uri)) return;
  const bool frozen = !job_->checkpoints.checkpointer.leaving().empty();
  const std::optional<v1::Manifest> manifest =
      job_->checkpoints.checkpointer.OnManifestWritten(written, now);
  if (!manifest) return OnFailed();
  const CheckpointFacts facts = FactsOf(*manifest, now);
  job_->checkpoints.catalog.Add(facts);
  job_->checkpoints.newest = job_->checkpoints.begun;
  job_->recovery.lost_updates.OnCheckpointStored();
  job_->training.closes.log().OnCheckpointStored();
  job_->checkpoints.frozen = frozen;
  job_->checkpoints.save_again = false;
  // An attempt that began before the evaluation has not saved these parameters.
  if (job_->training.standstill.save && IsOf(facts, *job_->training.standstill.evaluation)) {
    job_->training.standstill.save = false;
    job_->outbox.Warn("best model", "");
  }
  prune_ = job_->writer.Require();
  job_->outbox.Log(
      LogEvent::Level::kInfo, "checkpoint",
      {{"id", facts.id},
       {"examples", absl::StrCat(facts.examples)},
       {"MiB", absl::StrFormat("%.1f", static_cast<double>(facts.bytes) / kMebibyte)},
       {"seconds",
        absl::StrFormat("%.2f", absl::ToDoubleSeconds(job_->checkpoints.checkpointer.last_took()))},
       {"delta", facts.parent.empty() ? "no" : "yes"}});
  Answer(job_->checkpoints.checkpointer.UriOf(facts.id));
  if (job_->training.end.saving) {
    job_->model_uri = job_->checkpoints.checkpointer.UriOf(facts.id);
    job_->training.end.saving = false;
    job_->training.end.saved = true;
  }
}

void CheckpointDuty::OnFailed() {
  job_->training.end.saving = false;
  job_->checkpoints.save_again = false;
  job_->outbox.Log(LogEvent::Level::kError,
                   "a checkpoint has failed; training goes on, and the next is tried",
                   {{"error", job_->checkpoints.checkpointer.last_failure().ToString()},
                    {"failures", absl::StrCat(job_->checkpoints.checkpointer.failures())}});
  Answer(job_->checkpoints.checkpointer.last_failure());
}

void CheckpointDuty::Answer(const absl::StatusOr<std::string>& uri) {
  for (uint64_t asker : std::exchange(job_->checkpoints.askers, {})) {
    job_->outbox.Add(AnswerCheckpoint{asker, uri});
  }
}

void CheckpointDuty::Prune() {
  prune_.reset();
  std::vector<std::string> ids = job_->checkpoints.catalog.Superfluous();
  for (const std::string& id : ids) job_->checkpoints.catalog.Remove(id);
  if (!ids.empty()) job_->outbox.Add(DeleteCheckpoints{std::move(ids)});
}

}  // namespace capstan::chief
