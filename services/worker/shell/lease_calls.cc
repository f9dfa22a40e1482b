#include "worker/shell/lease_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "worker/session/round_calls.h"
#include "worker/shell/step_requests.h"

namespace capstan::worker {
namespace {

OutcomeSummary Summarize(const PushResult& result) {
  OutcomeSummary outcomes;
  for (size_t i = 0; i < result.outcomes.size(); ++i) {
    outcomes.Count(static_cast<v1::Outcome>(i), result.outcomes[i]);
  }
  return outcomes;
}

}  // namespace

LeaseCalls::LeaseCalls(const TrainerContext& trainer, const v1::Lease& lease)
    : trainer_(trainer),
      kind_(lease.kind()),
      timeline_{lease.timeline()},
      feed_(trainer.prefetcher, trainer.loop, lease),
      meter_(lease.kind(), trainer.times, trainer.metrics),
      results_(trainer.job, lease.kind(), trainer.grouped) {}

LeaseCalls::~LeaseCalls() {
  *alive_ = false;
  pulls_.CancelAll();
  pushes_.CancelAll();
  // A coordinator may leave such a call unanswered for seconds, and the worker's end would wait for
  // it.
  for (const auto& [ticket, call] : coordinator_calls_) trainer_.loop.Cancel(call);
}

template <typename Callback>
auto LeaseCalls::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) mutable {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

// ---- reading ----

void LeaseCalls::Do(const ReadBatch& action) {
  feed_.Read(action.batch,
             Guard([this, number = action.batch, asked = Now()](absl::StatusOr<LeaseBatch> read) {
               OnBatch(number, asked, std::move(read));
             }));
}

void LeaseCalls::OnBatch(uint64_t number, absl::Time asked, absl::StatusOr<LeaseBatch> read) {
  if (!read.ok()) {
    events_->OnReadFailed(read.status());
    return;
  }
  if (read->batch == nullptr) {
    events_->Deliver(EndOfData{read->end});
    return;
  }
  const absl::Time read_at = Now();  // Before Take(), which takes time as well.
  std::shared_ptr<Step> step =
      trainer_.steps.Take(std::move(read->batch), trainer_.client.owners());
  meter_.OnRead(*step, asked, read_at);
  step->stream = read->stream;
  step->seq = read->seq;
  batches_[number] = step;
  CAPSTAN_FAILPOINT("worker.batch_read");
  events_->Deliver(BatchRead{.batch = number,
                             .examples = static_cast<uint32_t>(step->batch->examples()),
                             .shards = step->plan.shards(),
                             .stream = read->stream,
                             .seq = read->seq,
                             .bytes = step->batch->bytes()});
}

// ---- pulling and computing ----

void LeaseCalls::Do(const SendPull& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  trainer_.steps.Lend(*step, timeline_);
  meter_.OnPullBegun(*step, Now());
  const bool frozen = step->frozen_of != timeline_;
  pulls_.Cancel(action.batch, action.shard);
  parts_.erase({action.batch, action.shard});
  if (JoinPull(action, frozen)) return;
  std::shared_ptr<SharedPulls::Pull> shared = BeginShared(action, frozen);
  auto pull = std::make_shared<StepPull>(trainer_.job, std::move(step), action, frozen);
  auto done = Guard([this](const SendPull& of, const PullResult& result) { OnPulled(of, result); });
  pulls_.Begin(action.batch, action.shard, [&] {
    return trainer_.client.Pull(action.shard, pull->plan(), pull->options(), pull->target(),
                                [pull, done, shared](const PullResult& result) mutable {
                                  if (shared != nullptr) shared->Complete(result);
                                  done(pull->action(), result);
                                });
  });
}

// Whether another lane pulls the same just now, so that this one has only to wait.
bool LeaseCalls::JoinPull(const SendPull& action, bool frozen) {
  if (!action.lane || !LanesPullTheSame(trainer_.job)) return false;
  std::unique_ptr<SharedPulls::Part> part = trainer_.shared_pulls.Join(
      {timeline_, action.lane->round, action.shard, frozen}, batches_.at(action.batch),
      Guard([this, action](const PullResult& result) { OnPulled(action, result); }));
  if (part == nullptr) return false;
  parts_[{action.batch, action.shard}] = std::move(part);
  return true;
}

// Null: no other lane pulls the same.
std::shared_ptr<SharedPulls::Pull> LeaseCalls::BeginShared(const SendPull& action, bool frozen) {
  if (!action.lane || !LanesPullTheSame(trainer_.job)) return nullptr;
  return trainer_.shared_pulls.Begin({timeline_, action.lane->round, action.shard, frozen},
                                     batches_.at(action.batch));
}

void LeaseCalls::OnPulled(const SendPull& pull, const PullResult& result) {
  pulls_.OnDone(pull.batch, pull.shard);
  parts_.erase({pull.batch, pull.shard});
  if (const auto step = batches_.find(pull.batch); step != batches_.end()) {
    meter_.OnPulled(*step->second, Now());
  }
  if (!result.status.ok()) trainer_.metrics.CountRetry(pull.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pulled");
  events_->Deliver(PullDone{pull.ticket, result.status, result.retry_after});
}

void LeaseCalls::Do(const Compute& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  pushes_.CancelBatch(action.batch);
  step->pulled.Clear();
  step->pushed.Clear();
  trainer_.steps.OnPulled(*step, timeline_);
  meter_.OnReady(*step);
  const auto kind =
      kind_ == v1::LEASE_KIND_EVALUATION ? Computer::Kind::kLogits : Computer::Kind::kGradients;
  trainer_.compute.Submit(std::move(step), kind,
                          Guard([this, number = action.batch] { OnComputed(number); }));
}

void LeaseCalls::OnComputed(uint64_t number) {
  auto found = batches_.find(number);
  if (found == batches_.end()) return;  // Forgotten meanwhile.
  CAPSTAN_FAILPOINT("worker.computed");
  const Step& step = *found->second;
  if (const std::optional<v1::UserCodeError>& error = step.user_code) {
    results_.Fail(*error);
    events_->OnComputeFailed(absl::InternalError(
        absl::StrCat(error->place(), ": ", error->type(), ": ", error->message())));
    return;
  }
  meter_.OnComputed(step);
  events_->Deliver(results_.Take(number, step));
}

// ---- pushing ----

void LeaseCalls::Do(const SendPush& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  meter_.OnPushBegun(*step, Now());
  auto push = std::make_shared<StepPush>(trainer_.job, std::move(step), action, trainer_.progress);
  auto done = Guard([this](const SendPush& of, const PushResult& result) { OnPushed(of, result); });
  pushes_.Begin(action.batch, action.shard, [&] {
    return trainer_.client.Push(
        action.shard, push->plan(), push->options(), push->source(),
        [push, done](const PushResult& result) mutable { done(push->action(), result); });
  });
}

void LeaseCalls::OnPushed(const SendPush& push, const PushResult& result) {
  pushes_.OnDone(push.batch, push.shard);
  if (!result.status.ok()) trainer_.metrics.CountRetry(push.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pushed");
  events_->Deliver(PushDone{push.ticket, result.status, Summarize(result), result.retry_after});
}

void LeaseCalls::Do(const SendClock& action) {
  auto plan = std::make_shared<RequestPlan>(trainer_.parameters);  // A plan without parameters.
  PushOptions options{
      .clock = action.clock, .empty = true, .stream = action.stream, .timeout = kPushTimeout};
  if (action.stage) options.stage = StageName{action.stage->lane, action.stage->generation, {}};
  trainer_.client.Push(
      action.shard, *plan, options, {},
      [plan, done = Guard([this, ticket = action.ticket](const PushResult& result) {
               events_->Deliver(ClockDone{ticket, result.status});
             })](const PushResult& result) mutable { done(result); });
}

// ---- rounds ----

ShardIndex LeaseCalls::Coordinator() const {
  return ShardIndex{static_cast<int32_t>(trainer_.client.owners()[0])};
}

void LeaseCalls::Open(const SendOpen& action, absl::Time asked,
                      std::optional<WaitingTurns::Turn> turn) {
  CAPSTAN_FAILPOINT("round.open");
  coordinator_calls_[action.ticket] = trainer_.client.Call<v1::OpenRoundReply>(
      Coordinator(), "OpenRound", ToRequest(action), action.wait + kOpenSlack,
      Guard([this, ticket = action.ticket, asked,
             turn = std::move(turn)](absl::StatusOr<v1::OpenRoundReply> reply) {
        coordinator_calls_.erase(ticket);
        OpenDone event = ToEvent(ticket, reply);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          meter_.OnRoundOpen(asked, Now());
        }
        events_->Deliver(std::move(event));
      }));
}

void LeaseCalls::Do(const SendReport& action) {
  coordinator_calls_[action.ticket] = trainer_.client.Call<v1::ReportLaneReply>(
      Coordinator(), "ReportLane", ToRequest(action), kReportTimeout,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::ReportLaneReply> reply) {
        CAPSTAN_FAILPOINT("round.report_answered");
        coordinator_calls_.erase(ticket);
        events_->Deliver(ToEvent(ticket, reply));
      }));
}

// ---- what else happens to the lease ----

std::vector<BatchRead> LeaseCalls::Replan() {
  pulls_.CancelAll();
  parts_.clear();
  pushes_.CancelAll();
  std::vector<BatchRead> replanned;
  for (auto& [number, step] : batches_) {
    step->pulled.Clear();
    step->pushed.Clear();
    step->plan.Route(trainer_.client.owners());
    replanned.push_back({.batch = number, .shards = step->plan.shards()});
  }
  return replanned;
}

bool LeaseCalls::Needs(uint64_t batch, ShardIndex shard) const {
  const auto step = batches_.find(batch);
  if (step == batches_.end()) return false;
  const std::vector<ShardIndex>& shards = step->second->plan.shards();
  return std::find(shards.begin(), shards.end(), shard) != shards.end();
}

void LeaseCalls::Do(const Forget& action) {
  auto found = batches_.find(action.batch);
  if (found == batches_.end()) return;
  if (action.settled) meter_.OnSettled(*found->second, Now());
  batches_.erase(found);
}

void LeaseCalls::ReadToEnd(uint64_t batches) {
  feed_.Read(batches, Guard([this](const absl::StatusOr<LeaseBatch>& read) {
               events_->OnReadToEnd(read.status());
             }));
}

// Asked after every event: the machine learns in several ways that a round went by without its
// gradient, from a shard or from the coordinator.
void LeaseCalls::OnHandled(const Event& /*event*/, const RunnerMachine& machine) {
  meter_.OnLate(machine.progress().late);
}

void LeaseCalls::OnFinished(bool lost) {
  CAPSTAN_FAILPOINT("worker.lease_finished");
  meter_.OnFinished(lost);
}

}  // namespace capstan::worker
