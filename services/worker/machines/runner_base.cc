#include "worker/machines/runner_base.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::worker {

bool AllDone(const ShardCalls& calls) {
  return std::all_of(calls.begin(), calls.end(),
                     [](const auto& call) { return call.second.state == Call::State::kDone; });
}

std::string DebugString(const ShardCalls& calls) {
  std::string text;
  for (const auto& [shard, call] : calls) text.push_back(call.Letter());
  return text;
}

Actions RunnerBase::On(const Event& event, const RunnerContext& context) {
  if (finished_) return {};
  view_changed_ = std::holds_alternative<ViewChanged>(event);
  HandleCommon(event, context);
  if (!finished_) Handle(event, context);
  if (!finished_) Pump(context);
  if (!finished_ && options_.ssp) PumpClocks(context);
  return std::exchange(actions_, {});
}

void RunnerBase::HandleCommon(const Event& event, const RunnerContext& context) {
  if (std::holds_alternative<Revoked>(event)) return Finish(Finished::Why::kLost, context);
  if (const auto* drain = std::get_if<Drain>(&event)) {
    draining_ = true;
    drain_deadline_ = std::min(drain_deadline_, drain->deadline);
  }
  if (draining_ && context.now >= drain_deadline_) {
    return Finish(Finished::Why::kReturned, context);
  }
  if (const auto* done = std::get_if<ClockDone>(&event)) OnClockDone(*done, context);
  const auto* view = std::get_if<ViewChanged>(&event);
  if (view == nullptr) return;
  options_.shards = view->shards;
  std::erase_if(clock_calls_, [this](const auto& call) {
    return !std::binary_search(options_.shards.begin(), options_.shards.end(), call.first);
  });
  for (ShardIndex shard : view->restarted) context.clock.ToldNothing(shard);
  if (!view->moved) return;
  context.clock.FinishAgain();
  clock_calls_.clear();
}

bool RunnerBase::Due(const Call& call, const RunnerContext& context) const {
  switch (call.state) {
    case Call::State::kIdle:
      return true;
    case Call::State::kWaiting:
      return view_changed_ || call.due <= context.now;
    default:
      return false;
  }
}

void RunnerBase::OnClockDone(const ClockDone& done, const RunnerContext& context) {
  for (auto& [shard, call] : clock_calls_) {
    if (!call.Awaits(done.ticket)) continue;
    const Verdict verdict = Judge(done.status);
    if (verdict != Verdict::kOk) return Again(call, verdict, done.status, {}, context);
    context.clock.Told(shard, call.clock);
    call = Call{};
  }
}

// A shard that knows less of this trainer's clock than is true makes others wait for it in vain.
void RunnerBase::PumpClocks(const RunnerContext& context) {
  for (ShardIndex shard : AllShards()) {
    Call& call = clock_calls_[shard];
    if (!context.clock.Behind(shard) || Pushing(shard)) {
      if (call.state == Call::State::kWaiting) call = {};
      continue;
    }
    if (!Due(call, context)) continue;
    call.clock = context.clock.ClockOf(shard);
    call.Fly(NextTicket());
    SendClock told{.ticket = call.ticket, .shard = shard, .clock = call.clock};
    NameLease(told);
    Do(std::move(told));
  }
}

void RunnerBase::Again(Call& call, Verdict verdict, const absl::Status& status, absl::Duration hint,
                       const RunnerContext& context) {
  if (verdict == Verdict::kFatal) return Finish(Finished::Why::kFailed, context, status);
  call.Wait(options_.backoff, hint, context);
}

void RunnerBase::Finish(Finished::Why why, const RunnerContext& context, absl::Status status) {
  for (uint64_t step : OpenSteps()) context.clock.Over(step);
  finished_ = true;
  Do(Finished{why, std::move(status)});
}

uint64_t RunnerBase::ClockOfPush(ShardIndex shard, uint64_t step,
                                 const RunnerContext& context) const {
  return options_.ssp ? context.clock.ClockOfPush(shard, step) : 0;
}

std::string RunnerBase::BaseDebugString() const {
  return absl::StrCat(finished_   ? "finished"
                      : draining_ ? "draining"
                                  : "",
                      " done ", progress_.batches_done, "/",
                      progress_.total_batches ? absl::StrCat(*progress_.total_batches) : "?",
                      " clocks ", worker::DebugString(clock_calls_));
}

absl::Time RunnerBase::NextWake() const {
  if (finished_) return absl::InfiniteFuture();
  absl::Time wake = drain_deadline_;
  const auto consider = [&wake](const Call& call) {
    if (call.state == Call::State::kWaiting) wake = std::min(wake, call.due);
  };
  for (const auto& [shard, call] : clock_calls_) consider(call);
  for (const Call* call : Calls()) consider(*call);
  return wake;
}

}  // namespace capstan::worker
