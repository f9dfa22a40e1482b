#include "chief/duties/promotion_duty.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace capstan::chief {

// Only the present process of a shard gets a lease, and only if the published view names it. A
// chief that another one has superseded may not know that yet: what it grants ends before the other
// one, which waits, has backups take over. A process that reports another timeline gets none: there
// a backup may have taken over under another chief. A process that reports no timeline is about to
// load one. Once the job has ended no backup takes over any more, so a process that reports the
// timeline of the end needs no proof that this chief's term is valid, and nothing is written for
// it.
double PromotionDuty::LeaseOf(uint32_t index, uint64_t incarnation, absl::Time now) {
  if (!job_->replicas() || job_->writer.superseded()) return 0;
  const Shard* shard = job_->placement.shards.Find(index, Incarnation{incarnation});
  if (shard == nullptr || shard->gone || !job_->placement.IsPublished(*shard)) return 0;
  ShardLease& lease = job_->placement.hearing.lease();
  const uint64_t served = shard->loaded_timeline;
  const bool present = served != 0 && served == job_->placement.gate.published().timeline();
  if (present && job_->end_stored()) return lease.Grant(incarnation, /*stood_at=*/now, now);
  job_->writer.Renew(now, lease.renewal());
  if (served != 0 && !present) return 0;
  return lease.Grant(incarnation, job_->writer.stood_at(now), now);
}

void PromotionDuty::OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now) {
  Shard* shard = job_->placement.shards.Find(index, Incarnation{incarnation});
  if (!job_->replicas() || shard == nullptr || shard->gone) return;
  shard->gone = true;
  shard->gone_at = now;
  job_->placement.hearing.lease().Forget(incarnation);
  job_->outbox.Log(LogEvent::Level::kWarning,
                   "the process of a shard has ended: its port refuses connections",
                   {{"shard", absl::StrCat(index)}});
  job_->placement.heard_of_shards = true;
}

// Returns OK if the backup can take over. UNAVAILABLE: not now. FAILED_PRECONDITION: it cannot.
absl::Status PromotionDuty::CheckBackup(const v1::PartitionPair& pair, absl::Time now) const {
  const Shard* backup = job_->placement.shards.Find(pair.backup());
  if (backup == nullptr || backup->gone || Raw(backup->incarnation) != pair.backup_incarnation()) {
    return absl::FailedPreconditionError(absl::StrCat("the backup of partition ", pair.partition(),
                                                      ", shard ", pair.backup(), ", is lost too"));
  }
  if (!backup->present || job_->placement.hearing.IsSilent(*backup, now)) {
    return absl::UnavailableError(absl::StrCat("the backup of partition ", pair.partition(),
                                               ", shard ", pair.backup(), ", is silent too"));
  }
  if (backup->loaded_timeline != job_->placement.timeline()) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", pair.backup(), " has not what it is to back up"));
  }
  return absl::OkStatus();
}

// A FAILED_PRECONDITION of one backup has precedence over an UNAVAILABLE of others.
absl::Status PromotionDuty::MayBeReplaced(uint32_t shard, absl::Time now) const {
  if (!job_->replicas()) return absl::FailedPreconditionError("partitions have no backups");
  if (job_->checkpoints.frozen)
    return absl::FailedPreconditionError("all are to return to a checkpoint");
  absl::Status possible;
  const auto& owners = job_->placement.views.current().owners();
  for (uint32_t partition = 0; partition < static_cast<uint32_t>(owners.size()); ++partition) {
    if (owners[static_cast<int>(partition)] != shard) continue;
    const v1::PartitionPair* pair = job_->placement.views.PairOf(partition);
    if (pair == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("partition ", partition, " has no backup"));
    }
    const absl::Status usable = CheckBackup(*pair, now);
    if (absl::IsFailedPrecondition(usable)) return usable;
    possible.Update(usable);
  }
  return possible;
}

// If the shard's process is lost, the chief refuses it from now on.
void PromotionDuty::Promote(uint32_t shard, std::string_view cause, absl::Time now) {
  // CANCELLED, because neither the moves nor their other shards have failed: they can be planned
  // again.
  const absl::Status why = absl::CancelledError(absl::StrCat("shard ", shard, " is lost"));
  if (job_->placement.moves.phase() != PartitionMoves::Phase::kSwitched)
    orders_->CancelMoves(why, now);
  if (job_->checkpoints.checkpointer.saving()) {
    job_->checkpoints.checkpointer.Abandon(absl::CancelledError(why.message()), now, job_->calls);
    job_->checkpoints.save_again = true;
    job_->training.end.saving = false;
  }
  waits_.erase(shard);
  if (!promotion_) promotion_ = Promotion{.begun = now};
  promotion_->view = 0;
  promotion_->coordinator = promotion_->coordinator || job_->placement.views.coordinator() == shard;
  promotion_->flushes = promotion_->flushes || job_->calls.Pending<v1::FlushRequest>();
  job_->calls.Cancel<v1::FlushRequest>();
  // The backups may not have closed the streams that the lost shard has not confirmed: all are sent
  // again.
  job_->calls.Cancel<v1::CloseStreamsRequest>();
  job_->training.closes.SendAnew();
  const auto& owners = job_->placement.views.current().owners();
  const auto partitions = std::count(owners.begin(), owners.end(), shard);
  job_->placement.views.Promote({shard});
  // A lost process may believe that it is the owner until it gets the view. If another process has
  // registered in its place, that one is kept.
  if (job_->placement.hearing.IsLost(*job_->placement.shards.Find(shard), now))
    job_->placement.shards.GiveUp(shard);
  ++promotions_;
  promoted_ += static_cast<uint64_t>(partitions);
  job_->outbox.Log(LogEvent::Level::kWarning, "backups take over for a shard; nothing is lost",
                   {{"shard", absl::StrCat(shard)},
                    {"because", std::string(cause)},
                    {"partitions", absl::StrCat(partitions)}});
}

// Called before the new process is registered, so that no view names it as the owner of what its
// predecessor had: backups would then drop what they have from that one.
absl::Status PromotionDuty::MayTakePlace(uint32_t shard, absl::Time now) {
  if (!job_->serving() || !job_->placement.views.Owns(shard)) return absl::OkStatus();
  const absl::Status replaceable = MayBeReplaced(shard, now);
  if (!absl::IsUnavailable(replaceable)) {
    waits_.erase(shard);
    return absl::OkStatus();
  }
  const absl::Duration patience = job_->placement.hearing.patience();
  auto [wait, begins] = waits_.try_emplace(shard, now + patience);
  if (now > wait->second + patience) {  // The last request was long ago: this is a new wait.
    wait->second = now + patience;
    begins = true;
  }
  if (now >= wait->second) {
    waits_.erase(wait);
    return absl::OkStatus();
  }
  if (begins) {
    job_->outbox.Log(LogEvent::Level::kWarning,
                     "a shard was started anew; it waits until its backups are heard of",
                     {{"shard", absl::StrCat(shard)},
                      {"at most", absl::FormatDuration(patience)},
                      {"because", std::string(replaceable.message())}});
  }
  return absl::UnavailableError(absl::StrCat("shard ", shard, " was started anew, and ",
                                             replaceable.message(), "; ask again"));
}

void PromotionDuty::OnReplaced(uint32_t shard, absl::Time now) {
  const bool switched = job_->placement.moves.phase() == PartitionMoves::Phase::kSwitched;
  if (job_->placement.moves.Concerns(shard) && !switched) {
    orders_->CancelMoves(absl::CancelledError(absl::StrCat("shard ", shard, " was started anew")),
                         now);
  }
  if (!job_->placement.views.Owns(shard)) {  // The shard owned nothing, so nothing is lost.
    if (job_->placement.views.has_map()) job_->placement.views.RemoveMember(shard);
    return;
  }
  if (!job_->serving()) return job_->recovery.restoration.OnReplaced(shard);
  ReplaceOrReturn(shard, now);
}

// Backups that have not been heard of by now do not take over.
void PromotionDuty::ReplaceOrReturn(uint32_t shard, absl::Time now) {
  const absl::Status replaceable = MayBeReplaced(shard, now);
  if (replaceable.ok()) return Promote(shard, "it was started anew", now);
  job_->recovery.restoration.OnReplaced(shard);
  if (job_->MayRecoverPartially()) return orders_->RecoverPartially(shard, now);
  std::string cause = absl::StrCat("shard ", shard, " was started anew");
  if (job_->replicas()) absl::StrAppend(&cause, ", and ", replaceable.message());
  orders_->ReturnToCheckpoint(cause, shard, now);
}

void PromotionDuty::Listen(absl::Time now) {
  job_->placement.hearing.Listen(job_->placement.shards, now);
}

// If a partition of a lost shard has no backup that can take over, everybody waits for the shard,
// or for another process in its place, with which all return to a checkpoint.
void PromotionDuty::ReplaceLost(absl::Time now) {
  if (!job_->replicas() || !job_->placement.heard_of_shards || !job_->serving()) return;
  const std::set<uint32_t> owners = job_->placement.views.owners();
  for (uint32_t index : owners) {
    const Shard* shard = job_->placement.shards.Find(index);
    if (shard == nullptr || !job_->placement.hearing.IsLost(*shard, now) ||
        !MayBeReplaced(index, now).ok())
      continue;
    Promote(index, shard->gone ? "its process has ended" : "it is silent, and its lease is over",
            now);
  }
}

bool PromotionDuty::ReplaceThoseThatDidNotComeBack(absl::Time now) {
  if (under_way()) return true;
  if (!job_->replicas() || job_->state != v1::JOB_STATE_RUNNING) return false;
  const std::set<uint32_t> changed = job_->takeover.Changed(job_->placement.shards);
  std::set<uint32_t> lost = changed;
  for (uint32_t index : job_->takeover.Awaited(job_->placement.shards)) {
    const Shard* shard = job_->placement.shards.Find(index);
    if (shard != nullptr && job_->placement.hearing.IsLost(*shard, now)) lost.insert(index);
  }
  bool waits = false;
  for (uint32_t index : lost) {
    const absl::Status possible = MayBeReplaced(index, now);
    if (absl::IsUnavailable(possible) && !job_->takeover.patience_over(now)) waits = true;
    if (!possible.ok()) continue;
    std::map<uint32_t, uint64_t> successors;
    for (const v1::PartitionPair& pair : job_->placement.views.current().pairs()) {
      const uint32_t owner =
          job_->placement.views.current().owners(static_cast<int>(pair.partition()));
      if (owner == index) successors[pair.backup()] = pair.backup_incarnation();
    }
    const bool anew = changed.contains(index);
    Promote(index, anew ? "it was started anew" : "it is silent since before this chief", now);
    job_->takeover.Replace(index, successors);
  }
  return waits || under_way();
}

void PromotionDuty::OnView(absl::Time now) {
  if (promotion_->view == 0) promotion_->view = job_->placement.views.current().epoch().n();
  if (job_->placement.gate.published().epoch().n() >= promotion_->view) OnPromoted(now);
}

// The view with the new owners is published: repeats to the new owners what was asked of the old
// ones.
void PromotionDuty::OnPromoted(absl::Time now) {
  const Promotion promotion = *std::exchange(promotion_, std::nullopt);
  if (job_->training.work.has_lanes()) {
    job_->training.barrier.AskAnew(job_->placement.views.coordinator(), promotion.coordinator,
                                   job_->options.call_deadline, job_->calls);
  }
  if (promotion.flushes) job_->FlushShards();
  job_->placement.heard_of_shards = true;
  job_->outbox.Log(
      LogEvent::Level::kInfo, "all may hear of the new owners",
      {{"after", absl::StrFormat("%.3f s", absl::ToDoubleSeconds(now - promotion.begun))}});
}

void PromotionDuty::Fill(v1::ReplicaStatus& status) const {
  if (!job_->replicas()) return;
  status.set_promotions(promotions_);
  status.set_promoted(promoted_);
}

}  // namespace capstan::chief
