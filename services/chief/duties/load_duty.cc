#include "chief/duties/load_duty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kLoadPoll = absl::Milliseconds(50);

constexpr absl::Duration kLoadAgain = absl::Seconds(1);

}  // namespace

void LoadDuty::Send() {
  if (job_->placement.gate.published().timeline() != job_->placement.timeline()) return;
  for (uint32_t index : job_->placement.Owners()) {
    if (IsDue(index)) SendTo(index, absl::InfinitePast());
  }
}

// Returns true if the shard has to load, has not been asked, and can be called according to the
// published view.
bool LoadDuty::IsDue(uint32_t index) const {
  const Shard* shard = job_->placement.shards.Find(index);
  if (!job_->recovery.restoration.Awaits(index) ||
      job_->calls.Pending<v1::LoadPartitionsRequest>(index))
    return false;
  return shard != nullptr && shard->present && job_->placement.IsPublished(*shard);
}

void LoadDuty::SendTo(uint32_t shard, absl::Time due) {
  const std::vector<uint32_t> partitions = job_->placement.PartitionsOf(shard);
  const bool coordinator =
      job_->training.work.has_lanes() && shard == job_->placement.views.coordinator();
  v1::LoadPartitionsRequest request = job_->recovery.restoration.RequestTo(partitions, coordinator);
  // If a job that had ended continues for more epochs, its ended lanes continue, too.
  if (job_->recovery.restoration.manifest().job().train().epochs() <
      job_->plan.spec.train().epochs()) {
    v1::TaskProgress progress;
    job_->training.work.Save(progress);
    const int lanes = std::min(progress.lanes_size(), request.coordinator().lanes_size());
    for (int l = 0; l < lanes; ++l) {
      request.mutable_coordinator()->mutable_lanes(l)->set_ended(progress.lanes(l).ended());
    }
  }
  if (job_->recovery.partial.contains(shard)) {
    *request.mutable_partial() = PartialRecoveryStart();
    job_->training.work.AdoptOnlyBegun();  // Only these are sent to the shard.
  }
  job_->calls.Send(shard, std::move(request),
                   {.deadline = job_->options.call_deadline, .due = due, .may_be_refused = true});
}

v1::PartialRecoveryStart LoadDuty::PartialRecoveryStart() const {
  v1::PartialRecoveryStart start;
  const v1::TaskProgress progress = job_->training.ProgressOfNow();
  for (const v1::OpenTask& task : progress.open_tasks()) {
    v1::OpenStreamFacts& open = *start.add_open();
    open.set_stream(StreamId::Task(task.data_epoch(), task.task()).value);
    *open.mutable_generation() = task.generation();
    open.set_prefix(task.batches());
  }
  for (const v1::StreamClose& close : job_->training.closes.log().closes())
    *start.add_closed() = close;
  return start;
}

bool LoadDuty::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (!answer.IsTo<v1::LoadPartitionsRequest>()) return false;
  if (!job_->recovery.restoration.Awaits(answer.shard)) return false;
  const absl::Status& status = answer.reply.status();
  if (status.ok()) {
    const auto& reply = answer.reply->Get<v1::LoadPartitionsReply>();
    if (reply.done()) {
      job_->recovery.restoration.OnLoaded(answer.shard, reply);
      job_->placement.OnLoaded(*job_->placement.shards.Find(answer.shard), now);
      return true;
    }
  } else {
    job_->outbox.Log(LogEvent::Level::kError, "a shard cannot load",
                     {{"shard", absl::StrCat(answer.shard)},
                      {"checkpoint", job_->recovery.restoration.source().uri},
                      {"error", status.ToString()}});
  }
  if (Recovery::IsDamage(status)) {
    job_->calls.Cancel<v1::LoadPartitionsRequest>();
    job_->checkpoints.catalog.Remove(job_->recovery.restoration.source().id);
    if (!job_->recovery.partial.empty()) {
      orders_->GiveUpPartialRecovery(status, now);
      return false;
    }
    const absl::Status left = job_->recovery.restoration.OnDamaged(status, now);
    if (!left.ok()) job_->Fail(v1::FAILURE_KIND_ERROR, std::string(left.message()));
    return false;
  }
  SendTo(answer.shard, now + (status.ok() ? kLoadPoll : kLoadAgain));
  return false;
}

}  // namespace capstan::chief
