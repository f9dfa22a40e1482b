// ChiefMachine: one shard back to a checkpoint while the others go on (recovery: partial). Leases,
// timeline and progress stay. The shard is told what has happened since the checkpoint; what it
// finds missing by that is lost, and counted: an upper bound. See the rules 8 to 10 of docs/spec.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/ids.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {

// Towards the end of a job the model is about to be saved: then it returns to the checkpoint whole,
// and what it would lose is trained again.
bool ChiefMachine::MayRecoverPartially() const {
  return partial() && state_ == v1::JOB_STATE_RUNNING && !end_.begun();
}

void ChiefMachine::RecoverPartially(uint32_t shard, absl::Time now) {
  v1::RecoveryLoss& loss = partial_[shard];
  loss.set_cause(absl::StrCat("shard ", shard, " was started anew"));
  loss.set_shard(shard);
  loss.set_recovery(v1::RECOVERY_PARTIAL);
  for (v1::TableLoss& of : lost_updates_meter_.LossOf({shard})) *loss.add_tables() = std::move(of);
  lost_updates_meter_.OnReturned({shard});
  views_.ForgetCopies(shard);  // It loads all that it owns.
  if (checkpointer_.running()) {
    checkpointer_.Abandon(absl::CancelledError(loss.cause()), now, calls_);
  }
  frozen_ = false;
  closed_ = false;
  if (recovery_.phase() == Recovery::Phase::kIdle) recovery_.Begin(Sources(), now);
  recovery_.OnReplaced(shard);
  Log(LogEvent::Level::kWarning, "a shard returns to the last checkpoint, the others go on",
      {{"cause", loss.cause()}, {"checkpoint", recovery_.source().id}});
}

v1::PartialRecoveryStart ChiefMachine::PartialRecoveryStart() const {
  v1::PartialRecoveryStart start;
  const v1::TaskProgress progress = ProgressOfNow();
  for (const v1::OpenTask& task : progress.open_tasks()) {
    v1::OpenStreamFacts& open = *start.add_open();
    open.set_stream(StreamId::Task(task.data_epoch(), task.task()).value);
    *open.mutable_generation() = task.generation();
    open.set_prefix(task.batches());
  }
  for (const v1::StreamClose& close : close_log_.closes()) *start.add_closed() = close;
  return start;
}

void ChiefMachine::OnPartiallyRecovered(uint32_t shard, const v1::LoadPartitionsReply& reply,
                                        absl::Time now) {
  const auto found = partial_.find(shard);
  if (found == partial_.end()) return;
  v1::RecoveryLoss loss = std::move(found->second);
  partial_.erase(found);
  const std::string& uri = recovery_.source().uri;
  if (!uri.empty()) ++restores_;
  loss.set_timeline(timeline());
  loss.set_checkpoint(uri);
  loss.set_seconds(absl::ToDoubleSeconds(now - recovery_.begun()));
  loss.set_batches(reply.batches_lost());
  writer_.Require();
  Log(LogEvent::Level::kWarning,
      "a shard has come back from a checkpoint, and lost what came after",
      {{"cause", loss.cause()},
       {"checkpoint", uri.empty() ? "none: the initial values" : uri},
       {"batches lost", absl::StrCat(loss.batches())},
       {"of tables", TextOf(loss)},
       {"rows", absl::StrCat(reply.rows())},
       {"seconds", absl::StrFormat("%.2f", loss.seconds())}});
  losses_.push_back(std::move(loss));
}

// More is found missing when the holders of open streams push again. Of a return that an earlier
// chief did not live to store only the shard knows.
void ChiefMachine::HearOfLoss(uint32_t shard, const v1::ShardReport& report) {
  if (partial_.contains(shard)) return;
  uint64_t told = 0;  // What checkpoints hold of it has been told, in a timeline before this.
  bool rolled_back = false;
  for (auto loss = losses_.rbegin(); loss != losses_.rend(); ++loss) {
    rolled_back = rolled_back || loss->recovery() == v1::RECOVERY_ROLLBACK;
    if (loss->recovery() != v1::RECOVERY_PARTIAL || loss->shard() != shard) continue;
    if (rolled_back) {
      told = std::max(told, loss->batches());
      continue;
    }
    if (report.batches_lost() > loss->batches()) {
      loss->set_batches(report.batches_lost());
      writer_.Note();
    }
    return;
  }
  if (report.batches_lost() <= told) return;
  v1::RecoveryLoss loss;
  loss.set_cause(absl::StrCat("shard ", shard, " was started anew under an earlier chief"));
  loss.set_shard(shard);
  loss.set_recovery(v1::RECOVERY_PARTIAL);
  loss.set_timeline(timeline());
  loss.set_batches(report.batches_lost());
  losses_.push_back(std::move(loss));
  writer_.Note();
}

// What has happened since is known for the last checkpoint alone. From an earlier one everybody
// begins again.
void ChiefMachine::GiveUpPartialRecovery(const absl::Status& why, absl::Time now) {
  const uint32_t shard = partial_.begin()->first;
  ReturnToCheckpoint(absl::StrCat(partial_.begin()->second.cause(), ", and ", why.message()), shard,
                     now);
}

}  // namespace capstan::chief
