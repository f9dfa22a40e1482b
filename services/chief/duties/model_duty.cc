#include "chief/duties/model_duty.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

// How long a shard must lack its partitions before all load: shards that come back within this time
// load together, and a late heartbeat has no effect.
constexpr absl::Duration kSettling = absl::Seconds(3);
constexpr absl::Duration kModelPoll = absl::Milliseconds(50);
constexpr absl::Duration kModelAgain = absl::Seconds(1);

}  // namespace

void ModelDuty::Advance(absl::Time now) {
  if (!Serves()) return;
  const std::vector<uint32_t> lacking = Lacking();
  const bool unmapped = !job_->placement.views.has_map() && job_->placement.shards.complete();
  if (lacking.empty() && !unmapped) {
    lacking_since_ = absl::InfiniteFuture();
    return;
  }
  lacking_since_ = std::min(lacking_since_, now);
  if (!loads()) {
    if (now >= lacking_since_ + kSettling) BeginTimeline(now);
    return;
  }
  if (job_->placement.gate.published().timeline() != timeline_) return;
  for (uint32_t index : lacking) {
    const bool called = job_->calls.Pending<v1::LoadPartitionsRequest>(index);
    if (!called && job_->placement.IsPublished(*job_->placement.shards.Find(index)))
      SendTo(index, absl::InfinitePast());
  }
}

bool ModelDuty::Serves() const {
  return job_->state == v1::JOB_STATE_COMPLETED && !job_->model_uri.empty() &&
         job_->writer.IsStored(job_->completion);
}

// Returns the present shards that have not loaded the partitions that they own.
std::vector<uint32_t> ModelDuty::Lacking() const {
  std::vector<uint32_t> lacking;
  for (uint32_t index : job_->placement.views.owners()) {
    const Shard* shard = job_->placement.shards.Find(index);
    if (shard != nullptr && job_->placement.Lacks(*shard)) lacking.push_back(index);
  }
  return lacking;
}

// All shards load the model, because what the others still serve may be later than the model, if
// that is an earlier checkpoint that was the best.
void ModelDuty::BeginTimeline(absl::Time now) {
  job_->calls.CancelAll();
  job_->recovery.restoration.End();
  if (!job_->placement.views.has_map()) {
    std::set<uint32_t> shards;
    for (uint32_t index = 0; index < job_->options.shards; ++index) shards.insert(index);
    job_->placement.views.MakeMap(job_->plan.spec.partition_count(), shards);
  }
  timeline_ = job_->recovery.next_timeline++;
  job_->placement.views.SetTimeline(timeline_);
  job_->writer.Require();
  job_->outbox.Log(
      LogEvent::Level::kInfo,
      "a shard of the completed job has come without its partitions: all load the model",
      {{"model", job_->model_uri}, {"timeline", absl::StrCat(timeline_)}});
  orders_->RefreshView(now);
}

// Orders to load the parameters only, as there is no more training.
void ModelDuty::SendTo(uint32_t shard, absl::Time due) {
  v1::LoadPartitionsRequest request;
  request.set_uri(job_->model_uri);
  request.set_parameters_only(true);
  for (uint32_t partition : job_->placement.PartitionsOf(shard)) {
    request.add_partitions(partition);
  }
  job_->calls.Send(shard, std::move(request),
                   {.deadline = job_->options.call_deadline, .due = due, .may_be_refused = true});
}

void ModelDuty::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  Shard* shard = job_->placement.shards.Find(answer.shard);
  if (!answer.IsTo<v1::LoadPartitionsRequest>() || !Serves() || shard == nullptr) return;
  const bool done = answer.reply.ok() && answer.reply->Get<v1::LoadPartitionsReply>().done();
  if (!done) {
    if (!answer.reply.ok()) {
      job_->outbox.Warn(
          "model", absl::StrCat("shard ", answer.shard, " cannot load the model ", job_->model_uri,
                                " again, and serves nothing: ", answer.reply.status().ToString()));
    }
    return SendTo(answer.shard, now + (answer.reply.ok() ? kModelPoll : kModelAgain));
  }
  job_->placement.OnLoaded(*shard, now);
  job_->outbox.Warn("model", "");
  job_->outbox.Log(LogEvent::Level::kInfo, "a shard serves the model again",
                   {{"shard", absl::StrCat(answer.shard)}});
}

}  // namespace capstan::chief
