#include "chief/duties/partial_recovery_duty.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace capstan::chief {
namespace {

constexpr char kLogGivenUp[] = "closed streams";

}  // namespace

void PartialRecoveryDuty::Begin(uint32_t shard, absl::Time now) {
  v1::RecoveryLoss& loss = job_->recovery.partial[shard];
  loss.set_cause(absl::StrCat("shard ", shard, " was started anew"));
  loss.set_shard(shard);
  loss.set_recovery(v1::RECOVERY_PARTIAL);
  for (v1::TableLoss& of : job_->recovery.lost_updates.LossOf({shard}))
    *loss.add_tables() = std::move(of);
  job_->recovery.lost_updates.OnReturned({shard});
  job_->placement.views.ForgetCopies(shard);  // The shard loads all that it owns.
  if (job_->checkpoints.checkpointer.running()) {
    job_->checkpoints.checkpointer.Abandon(absl::CancelledError(loss.cause()), now, job_->calls);
  }
  job_->checkpoints.frozen = false;
  job_->checkpoints.closed = false;
  if (job_->recovery.restoration.phase() == Recovery::Phase::kIdle)
    job_->recovery.restoration.Begin(job_->Sources(), now);
  job_->recovery.restoration.OnReplaced(shard);
  job_->outbox.Log(
      LogEvent::Level::kWarning, "a shard returns to the last checkpoint, the others go on",
      {{"cause", loss.cause()}, {"checkpoint", job_->recovery.restoration.source().id}});
}

void PartialRecoveryDuty::OnLoaded(const ShardCalls::Answer& answer, absl::Time now) {
  const auto found = job_->recovery.partial.find(answer.shard);
  if (found == job_->recovery.partial.end()) return;
  const auto& reply = answer.reply->Get<v1::LoadPartitionsReply>();
  v1::RecoveryLoss loss = std::move(found->second);
  job_->recovery.partial.erase(found);
  const std::string& uri = job_->recovery.restoration.source().uri;
  if (!uri.empty()) ++job_->recovery.restores;
  loss.set_timeline(job_->placement.timeline());
  loss.set_checkpoint(uri);
  loss.set_seconds(absl::ToDoubleSeconds(now - job_->recovery.restoration.begun()));
  loss.set_batches(reply.batches_lost());
  job_->writer.Require();
  job_->outbox.Log(LogEvent::Level::kWarning,
                   "a shard has come back from a checkpoint, and lost what came after",
                   {{"cause", loss.cause()},
                    {"checkpoint", uri.empty() ? "none: the initial values" : uri},
                    {"batches lost", absl::StrCat(loss.batches())},
                    {"of tables", TextOf(loss)},
                    {"rows", absl::StrCat(reply.rows())},
                    {"seconds", absl::StrFormat("%.2f", loss.seconds())}});
  job_->recovery.losses.push_back(std::move(loss));
}

void PartialRecoveryDuty::Advance(absl::Time now) {
  if (!job_->partial_recovery()) return;
  if (job_->training.closes.log().whole()) return job_->outbox.Warn(kLogGivenUp, "");
  const std::string why =
      absl::StrCat("more than ", CloseLog::kMost,
                   " tasks have been done since the last checkpoint, and no shard can be told of "
                   "them all");
  job_->outbox.Warn(kLogGivenUp,
                    absl::StrCat(why,
                                 ": until a checkpoint succeeds, a shard that is lost takes "
                                 "all others back to the last one (as recovery: rollback)"));
  if (!job_->recovery.partial.empty()) GiveUp(absl::ResourceExhaustedError(why), now);
}

// The shard finds more missing batches when runners of open streams push again, or when these are
// closed, even after all shards have returned to a checkpoint taken meanwhile. If an earlier chief
// had not stored the recovery before it ended, only the shard knows of it.
void PartialRecoveryDuty::Hear(uint32_t shard, const v1::ShardReport& report) {
  if (job_->recovery.partial.contains(shard)) return;
  std::optional<uint64_t> told;  // Counted before all shards returned to a checkpoint.
  bool rolled_back = false;
  for (auto loss = job_->recovery.losses.rbegin(); loss != job_->recovery.losses.rend(); ++loss) {
    rolled_back = rolled_back || loss->recovery() == v1::RECOVERY_ROLLBACK;
    if (loss->recovery() != v1::RECOVERY_PARTIAL || loss->shard() != shard) continue;
    if (rolled_back) {
      told = std::max(told.value_or(0), loss->batches());
      continue;
    }
    if (report.batches_lost() > loss->batches()) {
      loss->set_batches(report.batches_lost());
      job_->writer.Note();
    }
    return;
  }
  if (report.batches_lost() <= told.value_or(0)) return;
  v1::RecoveryLoss loss;
  loss.set_cause(absl::StrCat("shard ", shard, " was started anew ",
                              told ? "before all returned" : "under an earlier chief"));
  loss.set_shard(shard);
  loss.set_recovery(v1::RECOVERY_PARTIAL);
  loss.set_timeline(job_->placement.timeline());
  loss.set_batches(report.batches_lost());
  job_->recovery.losses.push_back(std::move(loss));
  job_->writer.Note();
}

void PartialRecoveryDuty::GiveUp(const absl::Status& why, absl::Time now) {
  const uint32_t shard = job_->recovery.partial.begin()->first;
  orders_->ReturnToCheckpoint(
      absl::StrCat(job_->recovery.partial.begin()->second.cause(), ", and ", why.message()), shard,
      now);
}

}  // namespace capstan::chief
