#include "chief/duties/recovery_duty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/failpoint.h"
#include "capstan/plan/fit.h"

namespace capstan::chief {
namespace {

std::set<uint32_t> KeysOf(const std::map<uint32_t, v1::RecoveryLoss>& losses) {
  std::set<uint32_t> keys;
  for (const auto& [key, loss] : losses) keys.insert(key);
  return keys;
}

}  // namespace

void RecoveryDuty::Start(absl::Time now) {
  std::set<uint32_t> shards = job_->ShardsOfNextMap(now);
  if (!job_->AreThere(shards, now)) return;
  job_->placement.next_map = std::move(shards);
  if (!job_->recovery.begins_again) return orders_->ReturnToCheckpoint("", 0, now);
  orders_->GoOnFromCheckpoint("the job was started again", now);
}

void RecoveryDuty::Return(std::string_view cause, uint32_t shard, absl::Time now) {
  goes_on_ = false;
  loss_.Clear();
  loss_.set_cause(std::string(cause));
  loss_.set_shard(shard);
  loss_.set_recovery(v1::RECOVERY_ROLLBACK);
  loss_.set_examples(job_->training.progress.examples());
  const std::set<uint32_t> shards = job_->placement.views.owners();
  for (v1::TableLoss& of : job_->recovery.lost_updates.LossOf(shards))
    *loss_.add_tables() = std::move(of);
  job_->recovery.lost_updates.OnReturned(shards);
  job_->recovery.partial.clear();
  job_->placement.views.DropPairs([](const v1::PartitionPair&) { return true; });
  job_->placement.views.RemoveAllButOwners();  // Others join again in the next timeline.
  job_->state = v1::JOB_STATE_RESTORING;
  job_->takeover.Settle();
  job_->placement.views.ForgetTrainers();
  job_->training.work.ReleaseAll();
  job_->calls.CancelAll();
  job_->checkpoints.checkpointer.Abandon(absl::CancelledError(loss_.cause()), now, job_->calls);
  job_->training.barrier.Reset();
  job_->training.end = {};
  job_->training.standstill = {};
  job_->checkpoints.frozen = false;
  job_->checkpoints.closed = false;
  job_->checkpoints.save_again = false;
  job_->recovery.restoration.Begin(job_->Sources(), now);
  if (cause.empty()) return;
  job_->outbox.Log(
      LogEvent::Level::kWarning, "returning to the last checkpoint",
      {{"cause", loss_.cause()}, {"checkpoint", job_->recovery.restoration.source().id}});
}

void RecoveryDuty::Advance(absl::Time now) {
  if (std::optional<std::string> uri = job_->recovery.restoration.TakeRead(now)) {
    job_->outbox.Add(ReadManifest{*std::move(uri)});
  }
  if (job_->state != v1::JOB_STATE_RESTORING) {
    if (job_->recovery.restoration.found())
      job_->recovery.restoration.BeginLoading(KeysOf(job_->recovery.partial));
    if (job_->recovery.restoration.loaded()) job_->recovery.restoration.End();
    return;
  }
  if (job_->recovery.restoration.found()) EnterTimeline(now);
  if (job_->recovery.restoration.loaded()) End(now);
}

void RecoveryDuty::OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                                  absl::Time now) {
  if (!job_->recovery.restoration.AwaitsManifestOf(uri)) return;
  const RecoverySource tried = job_->recovery.restoration.source();
  const absl::Status why = manifest.status();
  const absl::Status left = job_->recovery.restoration.OnManifestRead(std::move(manifest), now);
  if (!why.ok()) {
    job_->outbox.Log(LogEvent::Level::kError, "a checkpoint cannot be read",
                     {{"checkpoint", tried.uri}, {"error", why.ToString()}});
    if (Recovery::IsDamage(why)) job_->checkpoints.catalog.Remove(tried.id);
  }
  if (!job_->recovery.partial.empty() && Recovery::IsDamage(why)) {
    orders_->GiveUpPartialRecovery(why, now);
  } else if (!left.ok()) {
    job_->Fail(v1::FAILURE_KIND_ERROR, std::string(left.message()));
  }
}

// Begins the new timeline: the progress is that of the checkpoint, and shards have to load. Others
// learn of it only once it is stored.
void RecoveryDuty::EnterTimeline(absl::Time now) {
  const v1::Manifest& manifest = job_->recovery.restoration.manifest();
  const bool own = !job_->recovery.restoration.source().id.empty();
  if (own && manifest.progress().tasks_fingerprint() != TasksFingerprint(job_->plan)) {
    job_->Fail(v1::FAILURE_KIND_BAD_INPUT,
               "the training data are not those of the checkpoint: other files, or other sizes");
    return;
  }
  CAPSTAN_FAILPOINT("timeline.begin");
  if (goes_on_) job_->recovery.resumed_from = own ? job_->recovery.restoration.source().uri : "";
  // A new map is made only with a new timeline.
  if (!job_->placement.views.has_map()) {
    const std::set<uint32_t> shards = job_->ShardsOfNextMap(now);
    // A job that has trained before is known to fit.
    if (absl::Status fits = own ? absl::OkStatus() : CheckFit(shards); !fits.ok()) {
      return job_->Fail(v1::FAILURE_KIND_BAD_INPUT, std::string(fits.message()));
    }
    job_->placement.views.MakeMap(job_->plan.spec.partition_count(), shards);
    job_->placement.next_map.clear();
  }
  job_->placement.views.SetTimeline(job_->recovery.next_timeline++);
  RestoreProgress(own ? manifest : v1::Manifest(), now);
  job_->writer.Require();
  job_->recovery.restoration.BeginLoading(job_->placement.views.owners());
}

absl::Status RecoveryDuty::CheckFit(const std::set<uint32_t>& shards) const {
  return CheckShardsFit(job_->plan.spec, job_->plan.keys_a_batch, static_cast<int>(shards.size()),
                        job_->placement.shards.LeastMemory());
}

void RecoveryDuty::RestoreProgress(const v1::Manifest& manifest, absl::Time now) {
  const v1::TaskProgress& progress = manifest.progress();
  job_->training.work.ReleaseAll();
  job_->training.work.Restore(progress);
  job_->training.bad_records.Restore(progress);
  job_->training.progress.Restore(progress.examples(), progress.steps(), now);
  job_->training.RestoreEvaluations(job_->training.evaluations.history(),
                                    job_->training.evaluations.given_up(), progress.examples());
  job_->training.closes.ReturnTo(manifest, [this](const v1::StreamClose& close) {
    return job_->training.work.IsDone(StreamId{close.stream()});
  });
}

void RecoveryDuty::End(absl::Time now) {
  CAPSTAN_FAILPOINT("timeline.loaded");
  job_->recovery.restoration.End();
  job_->state = v1::JOB_STATE_RUNNING;
  job_->writer.Require();
  job_->checkpoints.checkpointer.StartClock(now);
  const absl::Duration took = now - job_->recovery.restoration.begun();
  const std::string& uri = job_->recovery.restoration.source().uri;
  if (!uri.empty()) ++job_->recovery.restores;
  if (loss_.cause().empty()) {
    job_->training.progress.Start(now);
    job_->outbox.Log(LogEvent::Level::kInfo, "training begins",
                     {{"shards", absl::StrCat(job_->placement.views.owners().size())},
                      {"partitions", absl::StrCat(job_->plan.spec.partition_count())},
                      {"tasks", absl::StrCat(job_->plan.train.size())},
                      {"epochs", absl::StrCat(job_->plan.spec.train().epochs())},
                      {"from", uri.empty() ? "the initial values" : uri}});
    return;
  }
  const uint64_t before = loss_.examples();
  loss_.set_examples(before - std::min(before, job_->training.progress.examples()));
  loss_.set_timeline(job_->placement.timeline());
  loss_.set_checkpoint(uri);
  loss_.set_seconds(absl::ToDoubleSeconds(took));
  // A job that was stopped regularly, and continues from where it was saved, has not recovered.
  const bool lost_nothing = goes_on_ && loss_.examples() == 0 && loss_.tables().empty();
  if (!lost_nothing) job_->recovery.losses.push_back(loss_);
  const auto level = lost_nothing ? LogEvent::Level::kInfo : LogEvent::Level::kWarning;
  job_->outbox.Log(level, "training goes on from a checkpoint",
                   {{"cause", loss_.cause()},
                    {"checkpoint", uri.empty() ? "none: the initial values" : uri},
                    {"examples", absl::StrCat(job_->training.progress.examples())},
                    {"examples to be trained again", absl::StrCat(loss_.examples())},
                    {"of tables", TextOf(loss_)},
                    {"rows", absl::StrCat(job_->recovery.restoration.rows())},
                    {"seconds", absl::StrFormat("%.2f", loss_.seconds())}});
}

}  // namespace capstan::chief
