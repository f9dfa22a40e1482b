#include "chief/control_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "chief/log_event.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kMetricsEvery = absl::Seconds(1);

template <typename Reply>
absl::StatusOr<ShardReply> AsShardReply(absl::StatusOr<Reply> reply) {
  if (!reply.ok()) return std::move(reply).status();
  return ShardReply(*std::move(reply));
}

}  // namespace

ControlLoop::ControlLoop(ChiefMachine machine, Parts parts)
    : parts_(parts), machine_(std::move(machine)) {
  {
    absl::MutexLock lock(&mu_);
    TakeActions();
  }
  thread_ = std::thread([this] { Loop(); });
}

ControlLoop::~ControlLoop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  loop_.Post([] {});
  thread_.join();
}

v1::GetStatusReply ControlLoop::Status() {
  absl::MutexLock lock(&mu_);
  return machine_.Status(parts_.clock.Now());
}

void ControlLoop::TakeActions() {
  std::vector<Action> actions = machine_.TakeActions();
  if (actions.empty()) return;
  if (outbox_.empty()) loop_.Post([this] { PerformAll(); });
  std::move(actions.begin(), actions.end(), std::back_inserter(outbox_));
}

void ControlLoop::Loop() {
  absl::Time next_tick = parts_.clock.Now();
  absl::Time next_metrics = next_tick;
  for (;;) {
    loop_.Poll(std::max(next_tick - parts_.clock.Now(), absl::ZeroDuration()));
    const absl::Time now = parts_.clock.Now();
    {
      absl::MutexLock lock(&mu_);
      if (stopping_) break;
      if (now >= next_tick) machine_.Tick(now);
      TakeActions();
    }
    if (now >= next_tick) next_tick = now + kTick;
    if (now < next_metrics) continue;
    next_metrics = now + kMetricsEvery;
    parts_.metrics.Update(Status());
  }
  PerformAll();
}

void ControlLoop::PerformAll() {
  std::vector<Action> actions;
  {
    absl::MutexLock lock(&mu_);
    actions.swap(outbox_);
  }
  for (Action& action : actions) {
    std::visit([this](auto& each) { Perform(each); }, action);
  }
}

void ControlLoop::Perform(PublishView& action) {
  parts_.metrics.SetView(action.view);
  parts_.views.Publish(action.view);
}

template <typename Reply, typename Request>
void ControlLoop::Call(const CallShard& action, const char* method, const Request& request) {
  Channel& channel = channels_[action.address];
  if (channel == nullptr) channel = NewChannel(action.address);
  loop_.Call<Reply>(channel, method, request, action.deadline,
                    [this, call = action.call](absl::StatusOr<Reply> reply) {
                      absl::MutexLock lock(&mu_);
                      machine_.OnShardReply(call, AsShardReply(std::move(reply)),
                                            parts_.clock.Now());
                      TakeActions();
                    });
}

void ControlLoop::Perform(CallShard& action) {
  struct Caller {
    ControlLoop& loop;
    const CallShard& action;
    void operator()(const v1::HoldRoundsRequest& request) const {
      loop.Call<v1::HoldRoundsReply>(action, "/capstan.v1.Ps/HoldRounds", request);
    }
    void operator()(const v1::CommitRoundRequest& request) const {
      loop.Call<v1::CommitRoundReply>(action, "/capstan.v1.Ps/CommitRound", request);
    }
    void operator()(const v1::CloseStreamsRequest& request) const {
      loop.Call<v1::CloseStreamsReply>(action, "/capstan.v1.Ps/CloseStreams", request);
    }
    void operator()(const v1::FlushRequest& request) const {
      loop.Call<v1::FlushReply>(action, "/capstan.v1.Ps/Flush", request);
    }
    void operator()(const v1::SavePartitionsRequest& request) const {
      loop.Call<v1::SavePartitionsReply>(action, "/capstan.v1.Ps/SavePartitions", request);
    }
  };
  std::visit(Caller{*this, action}, action.request);
}

void ControlLoop::Perform(WriteManifest& action) {
  const uint64_t step = action.manifest.step();
  const absl::Status written = parts_.files.WriteManifest(std::move(action));
  parts_.metrics.CountCheckpoint(written.ok(), step);
  absl::MutexLock lock(&mu_);
  machine_.OnManifestWritten(written, parts_.clock.Now());
  TakeActions();
}

void ControlLoop::Perform(AppendCurve& action) { parts_.files.AppendCurve(action); }

void ControlLoop::Perform(LogEvent& action) { WriteLog(action); }

}  // namespace capstan::chief
