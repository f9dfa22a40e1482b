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
  if (!job_->shards.complete() || job_->shards.SilentFor(job_->worker_lease(), now) != nullptr)
    return;
  orders_->ReturnToCheckpoint(job_->begins_again ? "the job was started again" : "", 0, now);
}

void RecoveryDuty::Return(std::string_view cause, uint32_t shard, absl::Time now) {
  loss_.Clear();
  loss_.set_cause(std::string(cause));
  loss_.set_shard(shard);
  loss_.set_recovery(v1::RECOVERY_ROLLBACK);
  loss_.set_examples(job_->progress.examples());
  const std::set<uint32_t> shards = job_->views.owners();
  for (v1::TableLoss& of : job_->lost_updates.LossOf(shards)) *loss_.add_tables() = std::move(of);
  job_->lost_updates.OnReturned(shards);
  job_->partial.clear();
  job_->views.DropPairs([](const v1::PartitionPair&) { return true; });
  job_->views.RemoveAllButOwners();  // The others join again, and hear of the next timeline.
  job_->state = v1::JOB_STATE_RESTORING;
  job_->takeover.Settle();
  job_->views.ForgetTrainers();
  job_->work.ReleaseAll();
  job_->calls.CancelAll();
  job_->checkpointer.Abandon(absl::CancelledError(loss_.cause()), now, job_->calls);
  job_->barrier.Reset();
  job_->end = {};
  job_->rest = {};
  job_->frozen = false;
  job_->closed = false;
  job_->save_again = false;
  job_->recovery.Begin(job_->Sources(), now);
  if (cause.empty()) return;
  job_->outbox.Log(LogEvent::Level::kWarning, "returning to the last checkpoint",
                   {{"cause", loss_.cause()}, {"checkpoint", job_->recovery.source().id}});
}

void RecoveryDuty::Advance(absl::Time now) {
  if (std::optional<std::string> uri = job_->recovery.TakeRead(now)) {
    job_->outbox.Add(ReadManifest{*std::move(uri)});
  }
  if (job_->state != v1::JOB_STATE_RESTORING) {
    if (job_->recovery.found()) job_->recovery.BeginLoading(KeysOf(job_->partial));
    if (job_->recovery.loaded()) job_->recovery.End();
    return;
  }
  if (job_->recovery.found()) EnterTimeline(now);
  if (job_->recovery.loaded()) End(now);
}

void RecoveryDuty::OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now) {
  const RecoverySource tried = job_->recovery.source();
  const absl::Status why = manifest.status();
  const absl::Status left = job_->recovery.OnManifestRead(std::move(manifest), now);
  if (!why.ok()) {
    job_->outbox.Log(LogEvent::Level::kError, "a checkpoint cannot be read",
                     {{"checkpoint", tried.uri}, {"error", why.ToString()}});
    if (Recovery::IsDamage(why)) job_->catalog.Remove(tried.id);
  }
  if (!job_->partial.empty() && Recovery::IsDamage(why)) {
    orders_->GiveUpPartialRecovery(why, now);
  } else if (!left.ok()) {
    job_->Fail(v1::FAILURE_KIND_ERROR, std::string(left.message()));
  }
}

// From here on everybody starts over from the checkpoint; nobody hears of it before it is stored.
void RecoveryDuty::EnterTimeline(absl::Time now) {
  const v1::Manifest& manifest = job_->recovery.manifest();
  const bool own = !job_->recovery.source().id.empty();
  if (own && manifest.progress().tasks_fingerprint() != TasksFingerprint(job_->plan)) {
    job_->Fail(v1::FAILURE_KIND_BAD_INPUT,
               "the training data are not those of the checkpoint: other files, or other sizes");
    return;
  }
  CAPSTAN_FAILPOINT("timeline.begin");
  if (own && job_->begins_again && job_->restores == 0)
    job_->resumed_from = job_->recovery.source().uri;
  // A map holds for a timeline: nobody hears of it before.
  if (!job_->views.has_map()) {
    const std::set<uint32_t> shards = ShardsOfNextMap();
    // What has been trained had room.
    if (absl::Status fits = own ? absl::OkStatus() : CheckFit(shards); !fits.ok()) {
      return job_->Fail(v1::FAILURE_KIND_BAD_INPUT, std::string(fits.message()));
    }
    job_->views.MakeMap(job_->plan.spec.partition_count(), shards);
  }
  job_->views.SetTimeline(job_->next_timeline++);
  RestoreProgress(own ? manifest : v1::Manifest(), now);
  job_->writer.Require();
  job_->recovery.BeginLoading(job_->views.owners());
}

absl::Status RecoveryDuty::CheckFit(const std::set<uint32_t>& shards) const {
  return CheckShardsFit(job_->plan.spec, static_cast<int>(shards.size()),
                        job_->shards.LeastMemory());
}

std::set<uint32_t> RecoveryDuty::ShardsOfNextMap() {
  std::set<uint32_t> shards = std::exchange(job_->next_map, {});
  if (!shards.empty()) return shards;
  for (uint32_t index = 0; index < job_->options.shards; ++index) shards.insert(index);
  return shards;
}

void RecoveryDuty::RestoreProgress(const v1::Manifest& manifest, absl::Time now) {
  const v1::TaskProgress& progress = manifest.progress();
  job_->work.ReleaseAll();
  job_->work.Restore(progress);
  job_->bad_records.Restore(progress);
  job_->progress.Restore(progress.examples(), progress.steps(), now);
  job_->evaluations.Restore(job_->evaluations.history(), progress.examples(),
                            job_->work.totals().epochs_done);
  job_->early_stop = EarlyStopper(job_->plan.spec.train().early_stop());
  for (const v1::Evaluation& evaluation : job_->evaluations.history()) {
    if (!evaluation.final()) (void)job_->early_stop.Add(evaluation);
  }
  job_->closes.ReturnTo(
      [this](const v1::StreamClose& close) { return job_->work.IsDone(StreamId{close.stream()}); });
}

void RecoveryDuty::End(absl::Time now) {
  CAPSTAN_FAILPOINT("timeline.loaded");
  job_->recovery.End();
  job_->state = v1::JOB_STATE_RUNNING;
  job_->writer.Require();
  job_->checkpointer.StartClock(now);
  const absl::Duration took = now - job_->recovery.begun();
  const std::string& uri = job_->recovery.source().uri;
  if (!uri.empty()) ++job_->restores;
  if (loss_.cause().empty()) {
    job_->progress.Start(now);
    job_->outbox.Log(LogEvent::Level::kInfo, "training begins",
                     {{"shards", absl::StrCat(job_->views.owners().size())},
                      {"partitions", absl::StrCat(job_->plan.spec.partition_count())},
                      {"tasks", absl::StrCat(job_->plan.train.size())},
                      {"epochs", absl::StrCat(job_->plan.spec.train().epochs())},
                      {"from", uri.empty() ? "the initial values" : uri}});
    return;
  }
  const uint64_t before = loss_.examples();
  loss_.set_examples(before - std::min(before, job_->progress.examples()));
  loss_.set_timeline(job_->timeline());
  loss_.set_checkpoint(uri);
  loss_.set_seconds(absl::ToDoubleSeconds(took));
  job_->losses.push_back(loss_);
  job_->outbox.Log(LogEvent::Level::kWarning, "training goes on from a checkpoint",
                   {{"cause", loss_.cause()},
                    {"checkpoint", uri.empty() ? "none: the initial values" : uri},
                    {"examples", absl::StrCat(job_->progress.examples())},
                    {"examples to be trained again", absl::StrCat(loss_.examples())},
                    {"of tables", TextOf(loss_)},
                    {"rows", absl::StrCat(job_->recovery.rows())},
                    {"seconds", absl::StrFormat("%.2f", loss_.seconds())}});
}

}  // namespace capstan::chief
