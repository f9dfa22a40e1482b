#include "chief/duties/pair_duty.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::chief {
// The owners of dropped pairs acknowledge nothing until a view without the pairs is published.
void PairDuty::Drop(absl::Time now) {
  if (!job_->placement.heard_of_shards || !job_->serving()) return;
  const size_t dropped = job_->placement.views.DropPairs(
      [&](const v1::PartitionPair& pair) { return IsOver(pair, now); });
  if (dropped == 0) return;
  dropped_ += dropped;
  job_->outbox.Log(LogEvent::Level::kWarning,
                   "partitions have no backup any more: the shard is lost, or leaves",
                   {{"partitions", absl::StrCat(dropped)}});
}

// Returns true if the pair cannot go on. A shard that leaves remains a backup for as long as it has
// partitions of its own to hand over.
bool PairDuty::IsOver(const v1::PartitionPair& pair, absl::Time now) const {
  const Shard* backup = job_->placement.shards.Find(pair.backup());
  return !job_->replicas() || backup == nullptr || backup->gone ||
         (backup->draining && !job_->placement.views.Owns(pair.backup())) ||
         (job_->placement.hearing.Hears(now) && job_->placement.hearing.IsSilent(*backup, now)) ||
         Raw(backup->incarnation) != pair.backup_incarnation() ||
         !job_->placement.views.members().contains(pair.backup());
}

void PairDuty::Hear(const Shard& shard) {
  const auto& told = shard.report.broken_pairs();
  if (told.empty()) return;
  const size_t broken = job_->placement.views.DropPairs([&](const v1::PartitionPair& pair) {
    const bool its_own = pair.backup() == shard.index &&
                         pair.backup_incarnation() == Raw(shard.incarnation) && pair.has_id();
    return its_own && std::any_of(told.begin(), told.end(), [&](const v1::BrokenPair& one) {
             return one.partition() == pair.partition() &&
                    ViewEpochFromProto(one.pair()) == ViewEpochFromProto(pair.id());
           });
  });
  if (broken == 0) return;
  dropped_ += broken;
  broken_ += broken;
  job_->outbox.Log(LogEvent::Level::kError,
                   "backups are out of step with their owners, and are made anew",
                   {{"shard", absl::StrCat(shard.index)}, {"partitions", absl::StrCat(broken)}});
}

void PairDuty::Fill(v1::ReplicaStatus& status) const {
  if (!job_->replicas()) return;
  status.set_wanted(job_->plan.spec.replicas());
  status.set_paired(static_cast<uint32_t>(job_->placement.views.current().pairs_size()));
  status.set_unpaired(static_cast<uint32_t>(job_->placement.Unpaired()));
  status.set_dropped(dropped_);
  status.set_broken(broken_);
}

}  // namespace capstan::chief
