#include "tests/simulation/sim/runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/client/chunk_lifecycle.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/stream_push.h"
#include "capstan/model/auc.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/shard.h"
#include "worker/machines/runners.h"
#include "worker/session/round_calls.h"

namespace capstan::sim {
namespace {

// As worker/shell/lease_runner has them.
constexpr absl::Duration kCallTimeout = absl::Seconds(15);
constexpr absl::Duration kReportTimeout = absl::Seconds(5);
constexpr absl::Duration kOpenSlack = absl::Seconds(3);

constexpr size_t kChunksInFlight = 2;  // Fewer than a push may have.

constexpr absl::Duration kShortestRead = absl::Microseconds(100);
constexpr absl::Duration kLongestRead = absl::Milliseconds(20);
constexpr absl::Duration kShortestStep = absl::Milliseconds(150);
constexpr absl::Duration kLongestStep = absl::Milliseconds(700);
constexpr float kExampleLoss = 0.5F;
constexpr double kUnreadable = 0.3;  // Of reads of an evaluation whose data fail.

void SetLane(const worker::LaneName& lane, v1::LaneStage& stage) {
  stage.set_lane(static_cast<uint32_t>(Raw(lane.lane)));
  ToProto(lane.generation, *stage.mutable_generation());
  stage.set_round(lane.round);
  ToProto(lane.closed, *stage.mutable_closed());
}

void Summarize(const v1::PushReply& reply, worker::OutcomeSummary& outcomes) {
  for (const v1::PartitionOutcome& outcome : reply.partitions()) {
    outcomes.Count(outcome.dense());
    outcomes.Count(outcome.sparse());
  }
}

}  // namespace

Runner::Runner(const RunnerContext& context, v1::Lease lease)
    : context_(context),
      feed_(context.cast.job(), lease),
      lifecycle_(
          lease, context.cast.job().spec().train().max_steps(),
          worker::NewRunner(context.cast.job().spec(), lease, worker::ShardsOf(context.view)),
          feed_),
      map_(context.view) {
  Deliver(worker::Start());
}

template <typename Callback>
auto Runner::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

void Runner::Later(absl::Duration wait, std::function<void()> event) {
  context_.cast.network().After(context_.life, wait, Guard(std::move(event)));
}

void Runner::Deliver(worker::Event event) {
  lifecycle_.Deliver(std::move(event), [this](const worker::Event& next) { Handle(next); });
  context_.wake();
}

void Runner::Handle(const worker::Event& event) {
  auto draw = [this] { return context_.cast.schedule().Random(); };
  const worker::RunnerContext context{.now = Now(), .clock = context_.clock, .random = draw};
  for (const worker::Action& action : lifecycle_.machine().On(event, context)) {
    std::visit([this](const auto& each) { Do(each); }, action);
    if (lifecycle_.machine_over()) break;
  }
  context_.cast.schedule().Tell(
      "  lease ", lifecycle_.generation().count, " of ", Raw(context_.trainer), ": event ",
      event.index(), ", ", lifecycle_.machine().DebugString(), ", ", context_.clock.DebugString());
}

// ---- reading ----

void Runner::Do(const worker::ReadBatch& action) {
  reads_.push_back(action.batch);
  ServeReads();
}

void Runner::ServeReads() {
  if (reads_.empty() || read_under_way_) return;
  const std::optional<Feed::Item> item = feed_.At(reads_.front());
  if (!item) return;
  read_under_way_ = true;
  absl::Duration wait = context_.cast.schedule().Between(kShortestRead, kLongestRead);
  if (context_.data_come > Now()) wait += context_.data_come - Now();
  if (wait == absl::InfiniteDuration()) return;
  if (evaluates() && context_.cast.job().options().eval_fails &&
      context_.cast.schedule().Chance(kUnreadable)) {
    return FailToRead(wait);
  }
  Later(wait, [this, item] {
    const uint64_t number = reads_.front();
    reads_.pop_front();
    read_under_way_ = false;
    if (item->end) {
      Deliver(worker::EndOfData{item->batches});
    } else {
      auto step = std::make_shared<Step>();
      step->batch = item->batch;
      steps_[number] = step;
      Deliver(
          worker::BatchRead{.batch = number,
                            .examples = static_cast<uint32_t>(item->batch.records.size()),
                            .shards = PlanOf(item->batch),
                            .stream = StreamId::Task(item->batch.name.epoch, item->batch.name.task),
                            .seq = item->batch.name.seq});
    }
    ServeReads();
  });
}

void Runner::FailToRead(absl::Duration wait) {
  Cast& cast = context_.cast;
  if (cast.lie() == Lie::kSilentFailure) return;
  Later(wait, [this, bad = cast.schedule().Chance(0.5)] {
    lifecycle_.Fail(absl::DataLossError("eval.libsvm: cannot be read"), bad);
    context_.wake();
  });
}

std::vector<ShardIndex> Runner::PlanOf(const NamedBatch& batch) const {
  std::vector<ShardIndex> shards;
  for (uint32_t shard : ShardsOf(context_.cast.job(), batch, context_.view)) {
    shards.push_back(static_cast<ShardIndex>(shard));
  }
  return shards;
}

// ---- pulling and computing ----

void Runner::Do(const worker::SendPull& action) {
  Cast& cast = context_.cast;
  const std::shared_ptr<Step> step = steps_.at(action.batch);
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  auto request = std::make_shared<v1::PullRequest>();
  *request->mutable_header() = HeaderFor(context_.view, shard);
  request->mutable_header()->set_trainer(Raw(context_.trainer));
  request->mutable_header()->set_clock(action.clock);
  request->set_evaluation(action.evaluation);
  if (action.lane) {
    request->set_round(action.lane->round);
    ToProto(action.lane->closed, *request->mutable_closed());
  }
  AddPull(cast.job(), step->batch, context_.view, shard, *request);
  const uint64_t number = ++pulls_[{action.batch, action.shard}];
  cast.checks().OnPullSent(context_.trainer, lease().generation(), *request, step->batch);
  const std::function<void(absl::StatusOr<v1::PullReply>)> done =
      Guard([this, step, request, action, number](const absl::StatusOr<v1::PullReply>& reply) {
        if (pulls_[{action.batch, action.shard}] != number) return;  // Cancelled.
        if (reply.ok()) {
          Step got;
          TakeValues(context_.cast.job(), *request, *reply, got);
          context_.cast.checks().OnPulled(lease(), *request, got.pulled);
          for (const auto& [cell, value] : got.pulled) step->pulled[cell] = value;
          for (const auto& [partition, version] : got.versions) step->versions[partition] = version;
          for (const auto& [key, version] : got.row_versions) step->row_versions[key] = version;
        }
        Deliver(worker::PullDone{action.ticket, reply.status(), {}});
      });
  cast.network().Call<v1::PullReply>(
      context_.life, cast.shard_host(shard), kCallTimeout,
      [&cast, shard, request](Done<v1::PullReply> answer, absl::Time deadline) {
        if (ShardProcess* process = cast.shard(shard)) process->Pull(*request, deadline, answer);
      },
      done);
}

void Runner::Do(const worker::Compute& action) {
  Schedule& schedule = context_.cast.schedule();
  const absl::Duration takes = schedule.Between(kShortestStep, kLongestStep) * context_.slowness;
  context_.busy_until = std::max(context_.busy_until, Now()) + takes;
  Later(context_.busy_until - Now(), [this, number = action.batch] {
    const auto found = steps_.find(number);
    if (found == steps_.end()) return;
    Step& step = *found->second;
    if (!evaluates()) step.gradient = context_.cast.job().Gradient(step.batch, step.pulled);
    Deliver(
        worker::Computed{.batch = number, .loss_sum = kExampleLoss * step.batch.records.size()});
  });
}

// ---- pushing ----

// As capstan/client does it, with a call for each partition.
struct Runner::Push {
  Push(worker::Ticket ticket, ShardIndex shard, std::vector<v1::PushRequest> chunks, uint64_t clock)
      : shard(static_cast<uint32_t>(Raw(shard))),
        clock(clock),
        chunks(std::move(chunks)),
        lifecycle(this->chunks.size(), /*tells_clock=*/clock > 0),
        done{ticket, absl::OkStatus(), {}, {}} {}

  bool Settled() const {
    const worker::OutcomeSummary& outcomes = done.outcomes;
    return outcomes.old_generation + outcomes.not_owner + outcomes.busy + outcomes.wrong_round +
               outcomes.outside_window ==
           0;
  }

  const uint32_t shard;
  const uint64_t clock;
  const std::vector<v1::PushRequest> chunks;
  ChunkLifecycle lifecycle;
  size_t under_way = 0;
  worker::PushDone done;  // So far.
};

void Runner::Do(const worker::SendPush& action) {
  Cast& cast = context_.cast;
  const std::shared_ptr<Step> step = steps_.at(action.batch);
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  v1::PushRequest request;
  *request.mutable_header() = HeaderFor(context_.view, shard);
  request.mutable_header()->set_trainer(Raw(context_.trainer));
  request.set_examples(static_cast<uint32_t>(step->batch.records.size()));
  if (action.stream) {
    ToProto(*action.stream, *request.mutable_stream());
    if (cast.lie() == Lie::kNewStreams) request.mutable_stream()->set_stream(cast.NewIncarnation());
  }
  if (action.stage) SetLane(*action.stage, *request.mutable_stage());
  if (cast.lie() == Lie::kNoRowVersions) step->row_versions.clear();
  if (!action.empty) AddGradients(cast.job(), *step, context_.view, shard, request);
  const uint64_t early = action.clock > 0 && cast.lie() == Lie::kEagerClock ? 1 : 0;
  std::shared_ptr<Push>& push = pushes_[{action.batch, action.shard}];
  if (push != nullptr) push->lifecycle.Stop();
  push =
      std::make_shared<Push>(action.ticket, action.shard, ChunksOf(request), action.clock + early);
  SendChunks(push);
}

void Runner::SendChunks(const std::shared_ptr<Push>& push) {
  while (const std::optional<size_t> chunk = push->lifecycle.Next(kChunksInFlight)) {
    ++push->under_way;
    SendChunk(push, *chunk);
  }
  if (push->under_way == 0) Deliver(push->done);
}

void Runner::SendChunk(const std::shared_ptr<Push>& push, size_t chunk) {
  Cast& cast = context_.cast;
  auto request = std::make_shared<v1::PushRequest>(push->chunks[chunk]);
  const bool tells = push->lifecycle.LastTellsClock() || cast.lie() == Lie::kClockInAllCalls;
  request->mutable_header()->set_clock(tells ? push->clock : 0);
  const std::function<void(absl::StatusOr<v1::PushReply>)> done =
      Guard([this, push](const absl::StatusOr<v1::PushReply>& reply) {
        worker::PushDone& all = push->done;
        --push->under_way;
        if (reply.ok()) {
          Summarize(*reply, all.outcomes);
          all.retry_after = std::max(all.retry_after, absl::Seconds(reply->retry_after_seconds()));
        } else {
          if (all.status.ok()) all.status = reply.status();
          push->lifecycle.Stop();
        }
        if (context_.cast.lie() == Lie::kForgetfulWorker) {
          all.status = absl::OkStatus();
          all.outcomes = {};
        }
        push->lifecycle.Answered(push->Settled());
        SendChunks(push);
      });
  cast.network().Call<v1::PushReply>(
      context_.life, cast.shard_host(push->shard), kCallTimeout,
      [&cast, shard = push->shard, request](Done<v1::PushReply> answer, absl::Time) {
        if (ShardProcess* process = cast.shard(shard)) process->Push(*request, answer);
      },
      done);
}

void Runner::Do(const worker::SendClock& action) {
  Cast& cast = context_.cast;
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  auto request = std::make_shared<v1::PushRequest>();
  *request->mutable_header() = HeaderFor(context_.view, shard);
  request->mutable_header()->set_trainer(Raw(context_.trainer));
  request->mutable_header()->set_clock(action.clock);
  if (action.stream) ToProto(*action.stream, *request->mutable_stream());
  if (action.stage) SetLane(*action.stage, *request->mutable_stage());
  cast.checks().OnClockTold(context_.trainer, request->header());
  const std::function<void(absl::StatusOr<v1::PushReply>)> done =
      Guard([this, ticket = action.ticket](const absl::StatusOr<v1::PushReply>& reply) {
        Deliver(worker::ClockDone{ticket, reply.status()});
      });
  cast.network().Call<v1::PushReply>(
      context_.life, cast.shard_host(shard), kCallTimeout,
      [&cast, shard, request](Done<v1::PushReply> answer, absl::Time) {
        if (ShardProcess* process = cast.shard(shard)) process->Push(*request, answer);
      },
      done);
}

// ---- rounds ----

void Runner::Do(const worker::SendOpen& action) {
  Cast& cast = context_.cast;
  const uint32_t shard = coordinator();
  v1::OpenRoundRequest request = worker::ToRequest(action);
  *request.mutable_header() = HeaderFor(context_.view, shard);
  request.mutable_header()->set_trainer(Raw(context_.trainer));
  const std::function<void(absl::StatusOr<v1::OpenRoundReply>)> done =
      Guard([this, ticket = action.ticket](const absl::StatusOr<v1::OpenRoundReply>& reply) {
        worker::OpenDone event = worker::ToEvent(ticket, reply);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          context_.cast.checks().OnRoundCommit(lease().timeline(), event.closed);
        }
        lifecycle_.OnOpened(event);
        Deliver(std::move(event));
      });
  cast.network().Call<v1::OpenRoundReply>(
      context_.life, cast.shard_host(shard), action.wait + kOpenSlack,
      [&cast, shard, request](Done<v1::OpenRoundReply> answer, absl::Time) {
        if (ShardProcess* process = cast.shard(shard)) process->OpenRound(request, answer);
      },
      done);
}

void Runner::Do(const worker::SendReport& action) {
  Cast& cast = context_.cast;
  const uint32_t shard = coordinator();
  v1::ReportLaneRequest request = worker::ToRequest(action);
  *request.mutable_header() = HeaderFor(context_.view, shard);
  request.mutable_header()->set_trainer(Raw(context_.trainer));
  const std::function<void(absl::StatusOr<v1::ReportLaneReply>)> done =
      Guard([this, ticket = action.ticket](const absl::StatusOr<v1::ReportLaneReply>& reply) {
        Deliver(worker::ToEvent(ticket, reply));
      });
  cast.network().Call<v1::ReportLaneReply>(
      context_.life, cast.shard_host(shard), kReportTimeout,
      [&cast, shard, request](Done<v1::ReportLaneReply> answer, absl::Time) {
        if (ShardProcess* process = cast.shard(shard)) process->ReportLane(request, answer);
      },
      done);
}

// ---- view and end ----

void Runner::OnView(const std::vector<ShardIndex>& restarted) {
  worker::ViewChanged event = map_.Take(context_.view, restarted);
  for (auto& [number, step] : steps_) {
    if (!event.moved) break;
    event.replanned.push_back({.batch = number, .shards = PlanOf(step->batch)});
  }
  Deliver(std::move(event));
}

void Runner::Do(const worker::Forget& action) { steps_.erase(action.batch); }

void Runner::Do(const worker::Finished& action) {
  context_.cast.checks().OnLeaseOver(context_.trainer, lease().generation());
  worker::Finished told = action;
  const bool lies = context_.cast.lie() == Lie::kLoseTask;
  if (lies && told.why == worker::Finished::Why::kReturned) told.why = worker::Finished::Why::kDone;
  reading_to_end_ = !lifecycle_.OnFinished(told);
  EndIfRead();
}

void Runner::EndIfRead() {
  if (reading_to_end_ && feed_.At(*lifecycle_.machine().progress().total_batches)) lifecycle_.End();
}

void Runner::Extend(const v1::Lease& lease) {
  lifecycle_.OnExtended(lease);
  feed_.Extend(lease);
  ServeReads();
  EndIfRead();
}

v1::LeaseReport Runner::Report() {
  v1::LeaseReport report = lifecycle_.Report();
  const bool rest = lease().first_batch() > 0;
  if (context_.cast.lie() == Lie::kLoseBadRecords && rest) report.clear_bad_records();
  if (!evaluates() || !report.finished()) return report;
  v1::EvaluationResult& result = *report.mutable_evaluation();
  result.set_examples(2);
  result.set_loss_sum(1);
  result.mutable_positives()->Resize(kLogitBins, 0);
  result.mutable_negatives()->Resize(kLogitBins, 0);
  result.set_positives(kLogitBins - 1, 1);
  result.set_negatives(0, 1);
  return report;
}

}  // namespace capstan::sim
