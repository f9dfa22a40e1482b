#include "worker/lease_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/consistency/closed_set.h"
#include "capstan/model/metrics.h"
#include "worker/holders.h"

namespace capstan::worker {
namespace {

// Longer than any wait that a shard imposes by policy: those are answered in time with "again".
constexpr absl::Duration kPullTimeout = absl::Seconds(15);
constexpr absl::Duration kPushTimeout = absl::Seconds(15);
constexpr absl::Duration kReportTimeout = absl::Seconds(5);
constexpr absl::Duration kOpenSlack = absl::Seconds(3);  // Over the wait that the keeper imposes.

RoundName NameOf(const LaneName& lane) { return {.round = lane.round, .closed = &lane.closed}; }

FateSummary Summarize(const PushOutcome& outcome) {
  FateSummary fates;
  fates.old_generation = outcome.count(v1::FATE_OLD_GENERATION);
  fates.not_owner = outcome.count(v1::FATE_NOT_OWNER);
  fates.busy = outcome.count(v1::FATE_BUSY);
  fates.wrong_round = outcome.count(v1::FATE_WRONG_ROUND);
  fates.outside_window = outcome.count(v1::FATE_OUTSIDE_WINDOW);
  for (v1::Fate settled :
       {v1::FATE_APPLIED, v1::FATE_QUEUED, v1::FATE_STAGED, v1::FATE_SETTLED, v1::FATE_DROPPED}) {
    fates.settled += outcome.count(settled);
  }
  return fates;
}

bool IsBadData(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status) || absl::IsNotFound(status);
}

}  // namespace

LeaseRunner::LeaseRunner(const MemberContext& member, v1::Lease lease)
    : member_(member),
      lease_(std::move(lease)),
      generation_(GenerationFromProto(lease_.generation())),
      machine_(NewHolder(member.job, lease_, member.client.view().shards_size())),
      feed_(member.prefetcher, member.loop, lease_) {
  Deliver(Start());
}

LeaseRunner::~LeaseRunner() { *alive_ = false; }

template <typename Callback>
auto LeaseRunner::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) mutable {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

void LeaseRunner::Deliver(Event event) {
  events_.push_back(std::move(event));
  if (delivering_) return;
  delivering_ = true;
  while (!events_.empty() && !machine_over_) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    auto draw = [this] { return absl::Uniform<double>(random_, 0.0, 1.0); };
    const HolderContext context{.now = Now(), .clock = member_.member_clock, .random = draw};
    for (const Action& action : machine_->On(next, context)) {
      std::visit([this](const auto& each) { Do(each); }, action);
      if (machine_over_) break;
    }
  }
  delivering_ = false;
  CountLate();
}

// Whether a shard said so or the keeper: the machine knows when a round went by without its
// gradient.
void LeaseRunner::CountLate() {
  const uint64_t late = machine_->progress().late;
  member_.metrics.late_gradients.Add(static_cast<double>(late - late_counted_));
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
    bad_data_ = IsBadData(read.status());
    Fail(read.status());
    return;
  }
  const absl::Duration waited = Now() - asked_[number];
  asked_.erase(number);
  if (read->batch == nullptr) {
    Deliver(EndOfData{read->end});
    return;
  }
  member_.times.data.Add(waited);
  member_.metrics.data_seconds.Observe(absl::ToDoubleSeconds(waited));
  std::shared_ptr<Step> step = member_.steps.Take(std::move(read->batch), member_.client.owners());
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
  std::shared_ptr<Step> step = batches_.at(action.batch);
  if (step->pull_began == absl::InfinitePast()) step->pull_began = Now();
  auto pull =
      std::make_shared<SendPull>(action);  // Lives as long as the call: options point into it.
  float* const rows[] = {step->rows.data()};
  PullOptions options{
      .clock = action.clock, .evaluation = action.evaluation, .timeout = kPullTimeout};
  if (pull->lane) options.round = NameOf(*pull->lane);
  const PullTarget target{.rows = absl::MakeConstSpan(rows, step->rows.empty() ? 0 : 1),
                          .dense = step->parameters.data(),
                          .versions = &step->versions};
  Cancel(pulls_, action.batch, action.shard);
  pulls_[{action.batch, action.shard}] = member_.client.Pull(
      action.shard, step->plan, options, target,
      [step, pull, done = Guard([this](const SendPull& of, const PullOutcome& outcome) {
                     OnPulled(of, outcome);
                   })](const PullOutcome& outcome) mutable { done(*pull, outcome); });
}

void LeaseRunner::Cancel(StepCalls& calls, uint64_t batch, ShardIndex shard) {
  const auto found = calls.find({batch, shard});
  if (found == calls.end()) return;
  member_.client.Cancel(found->second);
  calls.erase(found);
}

void LeaseRunner::OnPulled(const SendPull& pull, const PullOutcome& outcome) {
  pulls_.erase({pull.batch, pull.shard});
  if (!outcome.status.ok()) member_.metrics.CountRetry(pull.shard, outcome.status.code());
  CAPSTAN_FAILPOINT("worker.pulled");
  Deliver(PullDone{pull.ticket, outcome.status, outcome.retry_after});
}

void LeaseRunner::Do(const Compute& action) {
  std::shared_ptr<Step> step = batches_.at(action.batch);
  for (const v1::ShardInfo& shard : member_.client.view().shards()) {
    Cancel(pushes_, action.batch, static_cast<ShardIndex>(shard.index()));
  }
  const absl::Duration pulled = Now() - step->pull_began;
  member_.times.pull.Add(pulled);
  member_.metrics.pull_seconds.Observe(absl::ToDoubleSeconds(pulled));
  const auto kind = evaluates() ? ComputeThread::Kind::kLogits : ComputeThread::Kind::kGradients;
  member_.compute.Submit(std::move(step), kind,
                         Guard([this, number = action.batch] { OnComputed(number); }));
}

void LeaseRunner::OnComputed(uint64_t number) {
  auto found = batches_.find(number);
  if (found == batches_.end()) return;  // Forgotten meanwhile: a round was closed without it.
  CAPSTAN_FAILPOINT("worker.computed");
  Step& step = *found->second;
  member_.times.compute.Add(step.compute_time);
  member_.metrics.compute_seconds.Observe(absl::ToDoubleSeconds(step.compute_time));
  Computed event{.batch = number};
  if (evaluates()) {
    AddToEvaluation({.loss = member_.job.model().loss(),
                     .outputs = static_cast<int>(member_.job.model().outputs()),
                     .logits = step.logits,
                     .labels = step.batch->labels},
                    evaluation_);
  } else {
    member_.metrics.gradient_norm.Observe(step.gradient_norm);
    event.loss_sum = step.loss_sum;
    event.nonfinite = step.nonfinite;
    nonfinite_loss_ = nonfinite_loss_ || !std::isfinite(step.loss_sum);
    if (step.nonfinite) member_.metrics.nonfinite.Add();
  }
  Deliver(event);
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
                      .progress_examples = member_.progress_examples,
                      .timeout = kPushTimeout};
  if (push->stage) {
    options.stage = StageName{push->stage->lane, push->stage->generation, NameOf(*push->stage)};
  }
  const float* const rows[] = {step->row_gradients.data()};
  const float* const pulled[] = {step->rows.data()};
  const size_t tables = step->rows.empty() ? 0 : 1;
  PushSource source{.rows = absl::MakeConstSpan(rows, tables),
                    .dense = step->parameter_gradients.data(),
                    .versions = &step->versions};
  if (Compensates(member_.job)) {
    source.pulled_rows = absl::MakeConstSpan(pulled, tables);
    source.pulled_dense = step->parameters.data();
  }
  Cancel(pushes_, action.batch, action.shard);
  pushes_[{action.batch, action.shard}] = member_.client.Push(
      action.shard, step->plan, options, source,
      [step, push, done = Guard([this](const SendPush& of, const PushOutcome& outcome) {
                     OnPushed(of, outcome);
                   })](const PushOutcome& outcome) mutable { done(*push, outcome); });
}

void LeaseRunner::OnPushed(const SendPush& push, const PushOutcome& outcome) {
  pushes_.erase({push.batch, push.shard});
  if (!outcome.status.ok()) member_.metrics.CountRetry(push.shard, outcome.status.code());
  CAPSTAN_FAILPOINT("worker.pushed");
  Deliver(PushDone{push.ticket, outcome.status, Summarize(outcome), outcome.retry_after});
}

void LeaseRunner::Do(const SendClock& action) {
  auto plan = std::make_shared<RequestPlan>(member_.parameters);  // Of nothing.
  member_.client.Push(
      action.shard, *plan, {.clock = action.clock, .empty = true, .timeout = kPushTimeout}, {},
      [plan, done = Guard([this, ticket = action.ticket](const PushOutcome& outcome) {
               Deliver(ClockDone{ticket, outcome.status});
             })](const PushOutcome& outcome) mutable { done(outcome); });
}

// ---- rounds ----

ShardIndex LeaseRunner::Keeper() const {
  return ShardIndex{static_cast<int32_t>(member_.client.owners()[0])};
}

void LeaseRunner::Do(const SendOpen& action) {
  CAPSTAN_FAILPOINT("round.open");
  open_began_ = Now();
  v1::OpenRoundRequest request;
  request.set_lane(Raw(action.lane));
  ToProto(action.generation, *request.mutable_generation());
  request.set_wait_seconds(absl::ToDoubleSeconds(action.wait));
  member_.client.Call<v1::OpenRoundReply>(
      Keeper(), "OpenRound", std::move(request), action.wait + kOpenSlack,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::OpenRoundReply> reply) {
        OpenDone event{.ticket = ticket, .status = reply.status()};
        if (reply.ok()) {
          absl::StatusOr<ClosedSet> closed = ClosedSetFromProto(reply->closed());
          event.status = closed.status();
          event.answer = reply->answer();
          event.round = reply->round();
          event.cursor = reply->cursor();
          if (closed.ok()) event.closed = *std::move(closed);
        }
        if (event.status.ok()) HearOfRound(event.closed.round);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          closed_ = std::max(closed_, event.cursor);
          news_ = news_ || feed_.HasDone(closed_);
          member_.times.round_wait.Add(Now() - open_began_);
          member_.metrics.round_wait_seconds.Observe(absl::ToDoubleSeconds(Now() - open_began_));
        }
        Deliver(std::move(event));
      }));
}

// `closed` is the last one that the keeper has closed.
void LeaseRunner::HearOfRound(uint64_t closed) {
  const uint64_t last = member_.job.train().max_steps();
  news_ = news_ || (last > 0 && closed >= last && round_ <= last);
  round_ = std::max(round_, closed + 1);
}

void LeaseRunner::Do(const SendReport& action) {
  v1::ReportLaneRequest request;
  request.set_lane(Raw(action.lane));
  ToProto(action.generation, *request.mutable_generation());
  request.set_round(action.round);
  request.set_examples(action.examples);
  request.set_end_of_data(action.end_of_data);
  member_.client.Call<v1::ReportLaneReply>(
      Keeper(), "ReportLane", std::move(request), kReportTimeout,
      Guard([this, ticket = action.ticket](absl::StatusOr<v1::ReportLaneReply> reply) {
        CAPSTAN_FAILPOINT("round.report_answered");
        ReportDone event{.ticket = ticket, .status = reply.status()};
        if (reply.ok()) event.answer = reply->answer();
        Deliver(std::move(event));
      }));
}

// ---- view and end ----

void LeaseRunner::Do(const RefreshView&) {
}  // The watch stream brings every view; there is nothing to fetch.

void LeaseRunner::OnView(const std::vector<ShardIndex>& restarted) {
  ViewChanged event{.shard_count = member_.client.view().shards_size(), .restarted = restarted};
  for (auto& [number, step] : batches_) {
    step->plan.Route(member_.client.owners());
    event.replanned.push_back({.batch = number, .shards = step->plan.shards()});
  }
  Deliver(std::move(event));
}

void LeaseRunner::Do(const Forget& action) {
  auto found = batches_.find(action.batch);
  if (found == batches_.end()) return;
  const Step& step = *found->second;
  if (action.settled && !evaluates()) {
    if (step.push_began != absl::InfinitePast()) {
      member_.times.push.Add(Now() - step.push_began);
      member_.metrics.push_seconds.Observe(absl::ToDoubleSeconds(Now() - step.push_began));
    }
    member_.metrics.steps.Add();
    member_.metrics.samples.Add(static_cast<double>(step.batch->examples()));
  }
  batches_.erase(found);
}

void LeaseRunner::Do(const Finished& action) {
  CAPSTAN_FAILPOINT("worker.lease_finished");
  machine_over_ = true;
  lost_ = action.why == Finished::Why::kLost;
  returned_ = action.why == Finished::Why::kReturned;
  if (action.why == Finished::Why::kFailed && failure_.ok()) failure_ = action.status;
  (lost_ ? member_.metrics.leases_lost : member_.metrics.leases_finished).Add();
  const std::optional<uint64_t> total = machine_->progress().total_batches;
  if (lease_.kind() != v1::LEASE_KIND_LANE || action.why != Finished::Why::kDone || !total) {
    over_ = true;
    return;
  }
  // The keeper may know of the lane's end from a former holder; the chief is told of every task all
  // the same, so they are read up to the end.
  feed_.Read(*total, Guard([this](absl::StatusOr<LeaseBatch> end) {
    if (!end.ok()) failure_ = end.status();
    over_ = true;
  }));
}

void LeaseRunner::Fail(const absl::Status& status) {
  failure_ = status;
  machine_over_ = true;
  over_ = true;
}

void LeaseRunner::Extend(const v1::Lease& lease) {
  if (lease.lane_tasks_size() > 0) {
    std::erase_if(tasks_done_, [&](const v1::LaneTaskDone& task) {
      return task.ordinal() < lease.lane_tasks(0).ordinal();
    });
  }
  feed_.Extend(lease);
}

v1::LeaseReport LeaseRunner::Report() {
  const HolderProgress progress = machine_->progress();
  v1::LeaseReport report;
  news_ = false;
  ToProto(generation_, *report.mutable_generation());
  report.set_kind(lease_.kind());
  report.set_timeline(lease_.timeline());
  report.set_member(lease_.member());
  report.set_lane(lease_.lane());
  report.set_batches_done(progress.batches_done);
  report.set_examples(progress.examples);
  report.set_loss_sum(progress.loss_sum);
  report.set_nonfinite_loss(nonfinite_loss_);
  report.set_finished(over_ && !lost_ && !returned_ && failure_.ok());
  // What is lost may be held by nobody: a chief that has adopted it has to hear that this one is
  // not at work on it.
  report.set_returned(returned_ || lost_);
  if (!failure_.ok()) report.set_error(std::string(failure_.message()));
  report.set_bad_data(bad_data_);
  if (progress.total_batches) report.set_total_batches(*progress.total_batches);
  if (report.finished()) report.set_total_examples(feed_.ExamplesOfTasks());
  if (lease_.kind() == v1::LEASE_KIND_TASK) {
    report.set_stream(StreamId::Task(lease_.data_epoch(), lease_.task().index()).value);
  }
  if (lease_.kind() == v1::LEASE_KIND_LANE) {
    // A checkpoint of the last round closed does not hold what is only staged.
    const uint64_t cursor = report.finished() ? progress.batches_done : closed_;
    for (v1::LaneTaskDone& task : feed_.TakeDone(cursor)) {
      tasks_done_.push_back(std::move(task));
    }
    *report.mutable_lane_tasks_done() = {tasks_done_.begin(), tasks_done_.end()};
    report.set_round(round_);
    report.set_lane_tasks_known(feed_.tasks_known());
  }
  if (evaluates() && report.finished()) *report.mutable_evaluation() = evaluation_;
  return report;
}

}  // namespace capstan::worker
