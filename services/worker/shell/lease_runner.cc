#include "worker/shell/lease_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/staleness.h"
#include "capstan/model/metrics.h"
#include "worker/machines/runners.h"
#include "worker/session/round_calls.h"

namespace capstan::worker {
namespace {

// Longer than any wait that a shard imposes by policy: those are answered in time with "again".
constexpr absl::Duration kPullTimeout = absl::Seconds(15);
constexpr absl::Duration kPushTimeout = absl::Seconds(15);
constexpr absl::Duration kReportTimeout = absl::Seconds(5);
constexpr absl::Duration kOpenSlack =
    absl::Seconds(3);  // Over the wait that the coordinator imposes.

RoundName NameOf(const LaneName& lane) { return {.round = lane.round, .closed = &lane.closed}; }

OutcomeSummary Summarize(const PushResult& result) {
  OutcomeSummary outcomes;
  for (size_t i = 0; i < result.outcomes.size(); ++i) {
    outcomes.Count(static_cast<v1::Outcome>(i), result.outcomes[i]);
  }
  return outcomes;
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
      map_(trainer.client.view()) {
  if (lease.kind() == v1::LEASE_KIND_LANE) {
    trainer_.turns.Join(this, static_cast<LaneIndex>(lease.lane()));
  }
  Deliver(Start());
}

LeaseRunner::~LeaseRunner() {
  *alive_ = false;
  // Nobody waits for what is under way, and each call holds the memory of its step.
  const auto any = [](uint64_t) { return true; };
  CancelAll(pulls_, any);
  CancelAll(pushes_, any);
  trainer_.turns.Leave(this);
}

template <typename Callback>
auto LeaseRunner::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) mutable {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

void LeaseRunner::Deliver(Event event) {
  lifecycle_.Deliver(std::move(event), [this](const Event& next) { Handle(next); });
  CountLate();
}

void LeaseRunner::Handle(const Event& event) {
  auto draw = [this] { return absl::Uniform<double>(random_, 0.0, 1.0); };
  const RunnerContext context{.now = Now(), .clock = trainer_.trainer_clock, .random = draw};
  for (const Action& action : lifecycle_.machine().On(event, context)) {
    std::visit([this](const auto& each) { Do(each); }, action);
    if (lifecycle_.machine_over()) return;
  }
}

// Returns whether a shard said so or the coordinator: the machine knows when a round went by
// without its gradient.
void LeaseRunner::CountLate() {
  const uint64_t late = lifecycle_.machine().progress().late;
  trainer_.metrics.late_gradients.Add(static_cast<double>(late - late_counted_));
  late_counted_ = late;
}

// ---- reading ----

void LeaseRunner::Do(const ReadBatch& action) {
  asked_[action.batch] = Now();
  feed_.Read(action.batch, Guard([this, number = action.batch](absl::StatusOr<LeaseBatch> read) {
               OnBatch(number, std::move(read));
             }));
}

void LeaseRunner::OnBatch(uint64_t number, absl::StatusOr<LeaseBatch> read) {
  if (!read.ok()) {
    lifecycle_.Fail(read.status(), IsBadData(read.status()));
    return;
  }
  const absl::Time asked = asked_[number];
  const absl::Duration waited = Now() - asked;
  asked_.erase(number);
  if (read->batch == nullptr) {
    Deliver(EndOfData{read->end});
    return;
  }
  trainer_.times.data.Add(waited);
  trainer_.metrics.data_seconds.Observe(absl::ToDoubleSeconds(waited));
  std::shared_ptr<Step> step =
      trainer_.steps.Take(std::move(read->batch), trainer_.client.owners());
  step->marks.asked = asked;
  step->marks.read = asked + waited;
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

void LeaseRunner::Do(const SendPull& action) {
  if (action.lane && !in_turn_) {
    PullInTurn(action);
  } else {
    Pull(action);
  }
}

void LeaseRunner::PullInTurn(const SendPull& action) {
  const bool asked = !waiting_pulls_.empty();
  waiting_pulls_[{action.batch, action.shard}] = action;
  if (!asked) trainer_.turns.Ask(this, action.lane->round, [this] { BeginTurn(); });
}

void LeaseRunner::BeginTurn() {
  in_turn_ = true;
  for (const auto& [name, pull] : std::exchange(waiting_pulls_, {})) Pull(pull);
}

void LeaseRunner::EndTurn() {
  in_turn_ = false;
  waiting_pulls_.clear();
  trainer_.turns.End(this);
}

void LeaseRunner::Pull(const SendPull& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  trainer_.steps.LendDense(*step);
  if (step->marks.pull_began == absl::InfinitePast()) step->marks.pull_began = Now();
  auto pull =
      std::make_shared<SendPull>(action);  // Lives as long as the call: options point into it.
  std::vector<float*> rows;
  std::vector<uint32_t*> versions;
  for (size_t i = 0; i < trainer_.parameters.tables().size(); ++i) {
    rows.push_back(step->tables[i].rows.data());
    versions.push_back(step->tables[i].row_versions.data());
  }
  PullOptions options{.clock = action.clock,
                      .evaluation = action.evaluation,
                      .timeout = kPullTimeout,
                      .answered = &step->pulled};
  if (pull->lane) options.round = NameOf(*pull->lane);
  const bool judged = !action.evaluation && CountsRowUpdates(trainer_.job.sparse_update());
  if (!judged) versions.clear();
  const PullTarget target{.rows = rows,
                          .dense = step->parameters.data(),
                          .versions = &step->versions,
                          .row_versions = versions};
  Cancel(pulls_, action.batch, action.shard);
  pulls_[{action.batch, action.shard}] = trainer_.client.Pull(
      action.shard, step->plan, options, target,
      [step, pull, done = Guard([this](const SendPull& of, const PullResult& result) {
                     OnPulled(of, result);
                   })](const PullResult& result) mutable { done(*pull, result); });
}

void LeaseRunner::Cancel(StepCalls& calls, uint64_t batch, ShardIndex shard) {
  const auto found = calls.find({batch, shard});
  if (found == calls.end()) return;
  trainer_.client.Cancel(found->second);
  calls.erase(found);
}

void LeaseRunner::CancelAll(StepCalls& calls, absl::FunctionRef<bool(uint64_t)> of_batch) {
  std::erase_if(calls, [&](const auto& call) {
    if (!of_batch(call.first.first)) return false;
    trainer_.client.Cancel(call.second);
    return true;
  });
}

void LeaseRunner::OnPulled(const SendPull& pull, const PullResult& result) {
  pulls_.erase({pull.batch, pull.shard});
  if (const auto step = batches_.find(pull.batch); step != batches_.end()) {
    step->second->marks.pulled = Now();
  }
  if (!result.status.ok()) trainer_.metrics.CountRetry(pull.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pulled");
  Deliver(PullDone{pull.ticket, result.status, result.retry_after});
}

void LeaseRunner::Do(const Compute& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  CancelAll(pushes_, [&](uint64_t batch) { return batch == action.batch; });
  step->pulled.Clear();
  step->pushed.Clear();
  // Not until now: what was pulled may have waited for the computation before.
  const absl::Duration pulled =
      std::max(absl::ZeroDuration(), step->marks.pulled - step->marks.pull_began);
  trainer_.times.pull.Add(pulled);
  trainer_.metrics.pull_seconds.Observe(absl::ToDoubleSeconds(pulled));
  const auto kind = evaluates() ? Computer::Kind::kLogits : Computer::Kind::kGradients;
  trainer_.compute.Submit(std::move(step), kind,
                          Guard([this, number = action.batch] { OnComputed(number); }));
}

void LeaseRunner::OnComputed(uint64_t number) {
  auto found = batches_.find(number);
  if (found == batches_.end()) return;  // Forgotten meanwhile: a round was closed without it.
  CAPSTAN_FAILPOINT("worker.computed");
  Step& step = *found->second;
  if (step.user_code) return OnUserCodeError(*step.user_code);
  trainer_.times.compute.Add(step.compute_time);
  trainer_.metrics.compute_seconds.Observe(absl::ToDoubleSeconds(step.compute_time));
  trainer_.metrics.CountIdle(DivideIdle(step.marks),
                             lifecycle_.lease().kind() == v1::LEASE_KIND_LANE);
  Computed event{.batch = number};
  if (evaluates()) {
    AddToEvaluation({.loss = trainer_.job.model().loss(),
                     .outputs = static_cast<int>(trainer_.job.model().outputs()),
                     .logits = step.logits,
                     .labels = step.batch->labels,
                     .weights = step.batch->weights,
                     .groups = step.batch->groups},
                    evaluation_,
                    kMostGroupedExamples / std::max(1u, trainer_.job.train().compute_threads()));
    trainer_.metrics.evaluated_samples.Add(static_cast<double>(step.batch->examples()));
  } else {
    trainer_.metrics.gradient_norm.Observe(step.gradient_norm);
    if (step.clipped) trainer_.metrics.clipped.Add();
    // Told as a mean of the examples, however heavy they are.
    event.loss_sum = step.loss_sum / step.batch->MeanWeight();
    event.nonfinite = step.nonfinite;
    nonfinite_loss_ = nonfinite_loss_ || !std::isfinite(step.loss_sum);
    if (step.nonfinite) trainer_.metrics.nonfinite.Add();
  }
  Deliver(event);
}

// No repetition on this worker would do better: the chief is told, and decides.
void LeaseRunner::OnUserCodeError(const v1::UserCodeError& error) {
  user_code_ = error;
  EndTurn();
  trainer_.turns.Leave(this);
  lifecycle_.Fail(
      absl::InternalError(absl::StrCat(error.place(), ": ", error.type(), ": ", error.message())),
      /*bad_data=*/false);
}

// ---- pushing ----

void LeaseRunner::Do(const SendPush& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  if (step->push_began == absl::InfinitePast()) step->push_began = Now();
  auto push =
      std::make_shared<SendPush>(action);  // Lives as long as the call: options point into it.
  PushOptions options{.clock = action.clock,
                      .empty = action.empty,
                      .stream = action.stream,
                      .examples = static_cast<uint32_t>(step->batch->examples()),
                      .progress = trainer_.progress,
                      .timeout = kPushTimeout,
                      .answered = &step->pushed};
  if (push->stage) {
    options.stage = StageName{push->stage->lane, push->stage->generation, NameOf(*push->stage)};
  }
  std::vector<const float*> rows, pulled;
  std::vector<const uint32_t*> versions;
  for (size_t i = 0; i < trainer_.parameters.tables().size(); ++i) {
    rows.push_back(step->tables[i].row_gradients.data());
    pulled.push_back(step->tables[i].rows.data());
    versions.push_back(step->tables[i].row_versions.data());
  }
  PushSource source{
      .rows = rows, .dense = step->parameter_gradients.data(), .versions = &step->versions};
  if (CountsRowUpdates(trainer_.job.sparse_update())) source.row_versions = versions;
  if (Compensates(trainer_.job)) {
    source.pulled_rows = pulled;
    source.pulled_dense = step->parameters.data();
  }
  Cancel(pushes_, action.batch, action.shard);
  pushes_[{action.batch, action.shard}] = trainer_.client.Push(
      action.shard, step->plan, options, source,
      [step, push, done = Guard([this](const SendPush& of, const PushResult& result) {
                     OnPushed(of, result);
                   })](const PushResult& result) mutable { done(*push, result); });
}

void LeaseRunner::OnPushed(const SendPush& push, const PushResult& result) {
  pushes_.erase({push.batch, push.shard});
  if (!result.status.ok()) trainer_.metrics.CountRetry(push.shard, result.status.code());
  CAPSTAN_FAILPOINT("worker.pushed");
  Deliver(PushDone{push.ticket, result.status, Summarize(result), result.retry_after});
}

void LeaseRunner::Do(const SendClock& action) {
  auto plan = std::make_shared<RequestPlan>(trainer_.parameters);  // Of nothing.
  trainer_.client.Push(
      action.shard, *plan, {.clock = action.clock, .empty = true, .timeout = kPushTimeout}, {},
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
  EndTurn();
  open_began_ = Now();
  trainer_.client.Call<v1::OpenRoundReply>(
      Coordinator(), "OpenRound", ToRequest(action), action.wait + kOpenSlack,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::OpenRoundReply> reply) {
        OpenDone event = ToEvent(ticket, reply);
        lifecycle_.OnOpened(event);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          trainer_.times.round_wait.Add(Now() - open_began_);
          trainer_.metrics.round_wait_seconds.Observe(absl::ToDoubleSeconds(Now() - open_began_));
        }
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_WAIT) {
          trainer_.turns.Pass(this, std::max<uint64_t>(event.round, 1) - 1);
        }
        Deliver(std::move(event));
      }));
}

void LeaseRunner::Do(const SendReport& action) {
  trainer_.client.Call<v1::ReportLaneReply>(
      Coordinator(), "ReportLane", ToRequest(action), kReportTimeout,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::ReportLaneReply> reply) {
        CAPSTAN_FAILPOINT("round.report_answered");
        Deliver(ToEvent(ticket, reply));
      }));
}

// ---- view and end ----

void LeaseRunner::Do(const RefreshView&) {
}  // The watch stream brings every view; there is nothing to fetch.

void LeaseRunner::OnView(const std::vector<ShardIndex>& restarted) {
  ViewChanged event = map_.Take(trainer_.client.view(), restarted);
  if (event.moved || !restarted.empty()) {
    for (auto& [number, step] : batches_) {
      step->pulled.Clear();
      step->pushed.Clear();
    }
  }
  if (!event.moved) return Deliver(std::move(event));
  // What the machine asks for and sends again takes their place.
  const auto any = [](uint64_t) { return true; };
  CancelAll(pulls_, any);
  CancelAll(pushes_, any);
  for (auto& [number, step] : batches_) {
    step->plan.Route(trainer_.client.owners());
    event.replanned.push_back({.batch = number, .shards = step->plan.shards()});
  }
  Deliver(std::move(event));
  std::erase_if(waiting_pulls_, [this](const auto& pull) {
    const auto& [batch, shard] = pull.first;
    const auto step = batches_.find(batch);
    if (step == batches_.end()) return true;
    const std::vector<ShardIndex>& shards = step->second->plan.shards();
    return std::find(shards.begin(), shards.end(), shard) == shards.end();
  });
}

void LeaseRunner::Do(const Forget& action) {
  auto found = batches_.find(action.batch);
  if (found == batches_.end()) return;
  const Step& step = *found->second;
  if (action.settled && !evaluates()) {
    if (step.push_began != absl::InfinitePast()) {
      trainer_.times.push.Add(Now() - step.push_began);
      trainer_.metrics.push_seconds.Observe(absl::ToDoubleSeconds(Now() - step.push_began));
    }
    trainer_.metrics.steps.Add();
    trainer_.metrics.samples.Add(static_cast<double>(step.batch->examples()));
  }
  batches_.erase(found);
}

void LeaseRunner::Do(const Finished& action) {
  CAPSTAN_FAILPOINT("worker.lease_finished");
  EndTurn();
  trainer_.turns.Leave(this);
  const bool over = lifecycle_.OnFinished(action);
  (lifecycle_.lost() ? trainer_.metrics.leases_lost : trainer_.metrics.leases_finished).Add();
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
  report.set_nonfinite_loss(nonfinite_loss_);
  if (user_code_) *report.mutable_user_code() = *user_code_;
  if (evaluates() && report.finished()) *report.mutable_evaluation() = evaluation_;
  return report;
}

}  // namespace capstan::worker
