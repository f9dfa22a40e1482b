#include "worker/shell/lease_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "worker/machines/runners.h"
#include "worker/session/round_calls.h"
#include "worker/shell/step_requests.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kReportTimeout = absl::Seconds(5);
constexpr absl::Duration kOpenSlack =
    absl::Seconds(3);  // Added to the wait that OpenRound asks the coordinator for.

OutcomeSummary Summarize(const PushResult& result) {
  OutcomeSummary outcomes;
  for (size_t i = 0; i < result.outcomes.size(); ++i) {
    outcomes.Count(static_cast<v1::Outcome>(i), result.outcomes[i]);
  }
  return outcomes;
}

// Returns the lane that the lease is on; nullopt if it is on a task.
std::optional<LaneIndex> LaneOf(const v1::Lease& lease) {
  if (lease.kind() != v1::LEASE_KIND_LANE) return std::nullopt;
  return static_cast<LaneIndex>(lease.lane());
}

bool IsBadData(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status) || absl::IsNotFound(status);
}

}  // namespace

LeaseRunner::LeaseRunner(const TrainerContext& trainer, v1::Lease lease)
    : trainer_(trainer),
      feed_(trainer.prefetcher, trainer.loop, lease),
      lifecycle_(lease, trainer.job.train().max_steps(),
                 NewRunner(trainer.job, lease, ShardsOf(trainer.client.view())), feed_),
      map_(trainer.client.view()),
      meter_(lease.kind(), trainer.times, trainer.metrics),
      results_(trainer.job, lease.kind(), trainer.grouped),
      lane_pulls_(trainer.turns, LaneOf(lease), [this](const SendPull& action) { Pull(action); }) {
  Deliver(Start());
}

LeaseRunner::~LeaseRunner() {
  *alive_ = false;
  // Before lane_pulls_.Leave(), with which another lane may begin: each call holds the memory of
  // its step.
  pulls_.CancelAll();
  pushes_.CancelAll();
  // A coordinator may leave such a call unanswered for seconds, and the worker's end would wait for
  // it.
  for (const auto& [ticket, call] : coordinator_calls_) trainer_.loop.Cancel(call);
  lane_pulls_.Leave();
}

template <typename Callback>
auto LeaseRunner::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) mutable {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

void LeaseRunner::Deliver(Event event) {
  lifecycle_.Deliver(std::move(event), [this](const Event& next) { Handle(next); });
  // Asked after every event: the machine learns in several ways that a round went by without its
  // gradient, from a shard or from the coordinator.
  meter_.OnLate(lifecycle_.machine().progress().late);
}

void LeaseRunner::Handle(const Event& event) {
  auto draw = [this] { return absl::Uniform<double>(random_, 0.0, 1.0); };
  const RunnerContext context{.now = Now(), .clock = trainer_.trainer_clock, .random = draw};
  for (const Action& action : lifecycle_.machine().On(event, context)) {
    std::visit([this](const auto& each) { Do(each); }, action);
    if (lifecycle_.machine_over()) return;
  }
}

// ---- reading ----

void LeaseRunner::Do(const ReadBatch& action) {
  feed_.Read(action.batch,
             Guard([this, number = action.batch, asked = Now()](absl::StatusOr<LeaseBatch> read) {
               OnBatch(number, asked, std::move(read));
             }));
}

void LeaseRunner::OnBatch(uint64_t number, absl::Time asked, absl::StatusOr<LeaseBatch> read) {
  if (!read.ok()) {
    lifecycle_.Fail(read.status(), IsBadData(read.status()));
    return;
  }
  if (read->batch == nullptr) {
    Deliver(EndOfData{read->end});
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
  Deliver(BatchRead{.batch = number,
                    .examples = static_cast<uint32_t>(step->batch->examples()),
                    .shards = step->plan.shards(),
                    .stream = read->stream,
                    .seq = read->seq});
}

// ---- pulling and computing ----

void LeaseRunner::Do(const SendPull& action) { lane_pulls_.Send(action); }

void LeaseRunner::Pull(const SendPull& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  trainer_.steps.LendDense(*step, timeline());
  meter_.OnPullBegun(*step, Now());
  const bool frozen = step->frozen_of != timeline();
  auto pull = std::make_shared<StepPull>(trainer_.job, std::move(step), action, frozen);
  auto done = Guard([this](const SendPull& of, const PullResult& result) { OnPulled(of, result); });
  pulls_.Begin(action.batch, action.shard, [&] {
    return trainer_.client.Pull(
        action.shard, pull->plan(), pull->options(), pull->target(),
        [pull, done](const PullResult& result) mutable { done(pull->action(), result); });
  });
}

void LeaseRunner::OnPulled(const SendPull& pull, const PullResult& result) {
  pulls_.OnDone(pull.batch, pull.shard);
  if (const auto step = batches_.find(pull.batch); step != batches_.end()) {
    meter_.OnPulled(*step->second, Now());
  }
  if (!result.status.ok()) trainer_.metrics.CountRetry(pull.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pulled");
  Deliver(PullDone{pull.ticket, result.status, result.retry_after});
}

void LeaseRunner::Do(const Compute& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  pushes_.CancelBatch(action.batch);
  step->pulled.Clear();
  step->pushed.Clear();
  trainer_.steps.OnPulled(*step, timeline());
  meter_.OnReady(*step);
  const auto kind = evaluates() ? Computer::Kind::kLogits : Computer::Kind::kGradients;
  trainer_.compute.Submit(std::move(step), kind,
                          Guard([this, number = action.batch] { OnComputed(number); }));
}

void LeaseRunner::OnComputed(uint64_t number) {
  auto found = batches_.find(number);
  if (found == batches_.end()) return;  // Forgotten meanwhile.
  CAPSTAN_FAILPOINT("worker.computed");
  const Step& step = *found->second;
  if (step.user_code) return OnUserCodeError(*step.user_code);
  meter_.OnComputed(step);
  Deliver(results_.Take(number, step));
}

// The lease fails: this worker would fail again, so the chief is told, and decides.
void LeaseRunner::OnUserCodeError(const v1::UserCodeError& error) {
  results_.Fail(error);
  lane_pulls_.EndTurn();
  lane_pulls_.Leave();
  lifecycle_.Fail(
      absl::InternalError(absl::StrCat(error.place(), ": ", error.type(), ": ", error.message())),
      /*bad_data=*/false);
}

// ---- pushing ----

void LeaseRunner::Do(const SendPush& action) {
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

void LeaseRunner::OnPushed(const SendPush& push, const PushResult& result) {
  pushes_.OnDone(push.batch, push.shard);
  if (!result.status.ok()) trainer_.metrics.CountRetry(push.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pushed");
  Deliver(PushDone{push.ticket, result.status, Summarize(result), result.retry_after});
}

void LeaseRunner::Do(const SendClock& action) {
  auto plan = std::make_shared<RequestPlan>(trainer_.parameters);  // A plan without parameters.
  PushOptions options{
      .clock = action.clock, .empty = true, .stream = action.stream, .timeout = kPushTimeout};
  if (action.stage) options.stage = StageName{action.stage->lane, action.stage->generation, {}};
  trainer_.client.Push(
      action.shard, *plan, options, {},
      [plan, done = Guard([this, ticket = action.ticket](const PushResult& result) {
               Deliver(ClockDone{ticket, result.status});
             })](const PushResult& result) mutable { done(result); });
}

// ---- rounds ----

ShardIndex LeaseRunner::Coordinator() const {
  return ShardIndex{static_cast<int32_t>(trainer_.client.owners()[0])};
}

void LeaseRunner::Do(const SendOpen& action) {
  CAPSTAN_FAILPOINT("round.open");
  lane_pulls_.EndTurn();
  meter_.OnRoundAsked(Now());
  if (!action.counted) return Open(action, std::nullopt);
  trainer_.waiting_opens.Ask(
      Guard([this, action](WaitingTurns::Turn turn) { Open(action, std::move(turn)); }));
}

// `turn` is held until the answer has come, or is not waited for any longer.
void LeaseRunner::Open(const SendOpen& action, std::optional<WaitingTurns::Turn> turn) {
  coordinator_calls_[action.ticket] = trainer_.client.Call<v1::OpenRoundReply>(
      Coordinator(), "OpenRound", ToRequest(action), action.wait + kOpenSlack,
      Guard([this, ticket = action.ticket,
             turn = std::move(turn)](absl::StatusOr<v1::OpenRoundReply> reply) {
        coordinator_calls_.erase(ticket);
        OpenDone event = ToEvent(ticket, reply);
        lifecycle_.OnOpened(event);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          meter_.OnRoundOpen(Now());
        }
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_WAIT) {
          lane_pulls_.Pass(std::max<uint64_t>(event.round, 1) - 1);
        }
        Deliver(std::move(event));
      }));
}

void LeaseRunner::Do(const SendReport& action) {
  coordinator_calls_[action.ticket] = trainer_.client.Call<v1::ReportLaneReply>(
      Coordinator(), "ReportLane", ToRequest(action), kReportTimeout,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::ReportLaneReply> reply) {
        CAPSTAN_FAILPOINT("round.report_answered");
        coordinator_calls_.erase(ticket);
        Deliver(ToEvent(ticket, reply));
      }));
}

// ---- view and end ----

void LeaseRunner::OnView(const std::vector<ShardIndex>& restarted) {
  ViewChanged event = map_.Take(trainer_.client.view(), restarted);
  if (event.moved || !restarted.empty()) {
    for (auto& [number, step] : batches_) {
      step->pulled.Clear();
      step->pushed.Clear();
    }
  }
  if (!event.moved) return Deliver(std::move(event));
  // The machine pulls and pushes again what these calls were for.
  pulls_.CancelAll();
  pushes_.CancelAll();
  for (auto& [number, step] : batches_) {
    step->plan.Route(trainer_.client.owners());
    event.replanned.push_back({.batch = number, .shards = step->plan.shards()});
  }
  Deliver(std::move(event));
  lane_pulls_.Keep([this](uint64_t batch, ShardIndex shard) {
    const auto step = batches_.find(batch);
    if (step == batches_.end()) return false;
    const std::vector<ShardIndex>& shards = step->second->plan.shards();
    return std::find(shards.begin(), shards.end(), shard) != shards.end();
  });
}

void LeaseRunner::Do(const Forget& action) {
  auto found = batches_.find(action.batch);
  if (found == batches_.end()) return;
  if (action.settled) meter_.OnSettled(*found->second, Now());
  batches_.erase(found);
}

void LeaseRunner::Do(const Finished& action) {
  CAPSTAN_FAILPOINT("worker.lease_finished");
  lane_pulls_.EndTurn();
  lane_pulls_.Leave();
  const bool over = lifecycle_.OnFinished(action);
  meter_.OnFinished(lifecycle_.lost());
  if (over) return;
  const uint64_t end = *lifecycle_.machine().progress().total_batches;
  feed_.Read(end, Guard([this](const absl::StatusOr<LeaseBatch>& read) {
               if (read.ok()) {
                 lifecycle_.End();
               } else {
                 lifecycle_.Fail(read.status(), /*bad_data=*/false);
               }
             }));
}

void LeaseRunner::Extend(const v1::Lease& lease) {
  lifecycle_.OnExtended(lease);
  feed_.Extend(lease);
}

v1::LeaseReport LeaseRunner::Report() {
  v1::LeaseReport report = lifecycle_.Report();
  results_.Fill(report);
  return report;
}

}  // namespace capstan::worker
