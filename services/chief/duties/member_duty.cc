#include "chief/duties/member_duty.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kJoinPoll = absl::Milliseconds(50);

constexpr absl::Duration kJoinAgain = absl::Seconds(1);

// A leaving shard that is lost is given up after it has been silent for this many worker leases.
constexpr int kLeasesForLeaver = 3;

}  // namespace

// Shards that own nothing come and leave without any effect on training.
void MemberDuty::Advance(absl::Time now) {
  std::vector<uint32_t> gone;
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    if (job_->placement.views.Owns(index)) continue;
    const bool lost = job_->placement.hearing.IsLost(shard, now);
    if (job_->placement.views.members().contains(index)) {
      const bool leaves = lost || (shard.draining && IsFree(index));
      if (!leaves || job_->placement.moves.Concerns(index)) continue;
      job_->placement.views.RemoveMember(index);
      job_->outbox.Log(
          LogEvent::Level::kInfo, "a shard without partitions is not counted on any more",
          {{"shard", absl::StrCat(index)}, {"because", lost ? "it is silent" : "it leaves"}});
    } else if (lost) {
      gone.push_back(index);
    } else if (job_->placement.MayTake(index, now) && !job_->training.end.begun()) {
      Admit(shard);
    }
  }
  for (uint32_t index : gone) {
    job_->calls.Cancel<v1::LoadPartitionsRequest>(index, Callee::kRegistered);
    job_->placement.shards.Forget(index);
  }
}

// Returns true if the shard owns and backs up nothing, in the current and in the published view,
// and no move involves it.
bool MemberDuty::IsFree(uint32_t shard) const {
  const v1::View& known = job_->placement.gate.published();
  const auto backed = [shard](const v1::PartitionPair& pair) { return pair.backup() == shard; };
  return !job_->placement.views.Owns(shard) && !job_->placement.views.Backs(shard) &&
         !job_->placement.moves.Concerns(shard) &&
         std::find(known.owners().begin(), known.owners().end(), shard) == known.owners().end() &&
         std::none_of(known.pairs().begin(), known.pairs().end(), backed);
}

// Tells the shard the timeline, by a load without partitions. Once it knows that, adds it to the
// members, so that others may call it.
void MemberDuty::Admit(const Shard& shard) {
  if (job_->placement.gate.published().timeline() != job_->placement.timeline()) return;
  if (shard.loaded_timeline == job_->placement.timeline()) {
    job_->placement.views.AddMember(shard.index);
    job_->outbox.Log(LogEvent::Level::kInfo, "a shard has joined",
                     {{"shard", absl::StrCat(shard.index)}});
    return;
  }
  if (job_->calls.Pending<v1::LoadPartitionsRequest>(shard.index, Callee::kRegistered)) return;
  TellTimeline(shard.index, absl::InfinitePast());
}

void MemberDuty::TellTimeline(uint32_t shard, absl::Time due) {
  job_->calls.Send(shard, v1::LoadPartitionsRequest(),
                   {.deadline = job_->options.call_deadline,
                    .due = due,
                    .callee = Callee::kRegistered,
                    .may_be_refused = true});
}

void MemberDuty::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (!answer.IsTo<v1::LoadPartitionsRequest>(Callee::kRegistered)) return;
  Shard* shard = job_->placement.shards.Find(answer.shard);
  if (shard == nullptr || job_->placement.views.members().contains(answer.shard)) return;
  if (answer.reply.ok() && answer.reply->Get<v1::LoadPartitionsReply>().done()) {
    job_->placement.OnLoaded(*shard, now);
    return;
  }
  if (!answer.reply.ok()) {
    job_->outbox.Log(
        LogEvent::Level::kWarning, "a shard cannot join yet",
        {{"shard", absl::StrCat(answer.shard)}, {"error", answer.reply.status().ToString()}});
  }
  TellTimeline(answer.shard, now + (answer.reply.ok() ? kJoinPoll : kJoinAgain));
}

// Returns the shards that were leaving, own partitions, and may never come back: they have been
// lost for kLeasesForLeaver leases. Such a shard was ended before it had handed over all it had, or
// left when no shard could take its partitions.
std::set<uint32_t> MemberDuty::ShardsThatLeft(absl::Time now) const {
  std::set<uint32_t> gone = job_->placement.LeavingShards();
  std::erase_if(gone, [&](uint32_t index) {
    const Shard& shard = *job_->placement.shards.Find(index);
    return !job_->placement.hearing.IsLost(shard, now) ||
           now - shard.heard <= kLeasesForLeaver * job_->worker_lease();
  });
  return gone;
}

// The map is forgotten, and the next one is made over the shards that stay.
void MemberDuty::GiveUpThoseThatLeft(absl::Time now) {
  if (job_->state != v1::JOB_STATE_RUNNING) return;
  const std::set<uint32_t> gone = ShardsThatLeft(now);
  std::set<uint32_t> stay;
  for (uint32_t index : job_->placement.views.members()) {
    if (job_->placement.MayTake(index, now)) stay.insert(index);
  }
  if (gone.empty() || stay.empty()) return;
  orders_->ReturnToCheckpoint(
      absl::StrCat("shard ", *gone.begin(), " was to leave, and has not come back"), *gone.begin(),
      now);
  job_->placement.views.ForgetMap();
  job_->placement.next_map = std::move(stay);
}

// The recovery begins anew, over a map of the shards that are there.
void MemberDuty::RestoreWithoutThoseThatLeft(absl::Time now) {
  if (job_->state != v1::JOB_STATE_RESTORING) return;
  const std::set<uint32_t> gone = ShardsThatLeft(now);
  std::set<uint32_t> stay;
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    if (job_->placement.MayTake(index, now)) stay.insert(index);
  }
  if (gone.empty() || stay.empty()) return;
  job_->outbox.Log(LogEvent::Level::kWarning,
                   "a shard that was to load has left; the others do without it",
                   {{"shard", absl::StrCat(*gone.begin())}});
  job_->calls.CancelAll();
  job_->placement.views.ForgetMap();
  job_->placement.next_map = std::move(stay);
  job_->recovery.restoration.Begin(job_->Sources(), now);
}

bool MemberDuty::MayLeave(uint32_t shard, absl::Time now) const {
  if (job_->ended() || job_->state == v1::JOB_STATE_PENDING ||
      job_->state == v1::JOB_STATE_RESTORING)
    return true;
  if (job_->checkpoints.frozen || IsFree(shard)) return true;
  return !job_->checkpoints.checkpointer.enabled() &&
         job_->placement.ShardsToSave(now).contains(shard);
}

}  // namespace capstan::chief
