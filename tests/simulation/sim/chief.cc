#include "tests/simulation/sim/chief.h"

#include <utility>
#include <variant>

#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/shard.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kWatchTimeout = absl::Seconds(5);
constexpr absl::Duration kWriteTakes = absl::Milliseconds(20);

}  // namespace

ChiefProcess::ChiefProcess(Cast& cast, const Life& life, const chief::ChiefOptions& options)
    : cast_(cast), life_(life), machine_(options, cast.job().plan(), cast.schedule().Now()) {
  Tick();
}

ChiefProcess::~ChiefProcess() {
  for (const Watcher& watcher : watchers_) cast_.network().Break(watcher.stream);
}

void ChiefProcess::Tick() {
  machine_.Tick(Now());
  Perform();
  cast_.network().After(life_, kTick, [this] { Tick(); });
}

// ---- the door ----

absl::StatusOr<v1::RegisterShardReply> ChiefProcess::RegisterShard(
    const v1::RegisterShardRequest& request) {
  auto reply = machine_.RegisterShard(request, Now());
  Perform();
  return reply;
}

absl::StatusOr<v1::RegisterWorkerReply> ChiefProcess::RegisterWorker(
    const v1::RegisterWorkerRequest& request) {
  auto reply = machine_.RegisterWorker(request, Now());
  Perform();
  return reply;
}

v1::ShardHeartbeatReply ChiefProcess::ShardHeartbeat(const v1::ShardHeartbeatRequest& request) {
  v1::ShardHeartbeatReply reply = machine_.ShardHeartbeat(request, Now());
  Perform();
  return reply;
}

v1::WorkerHeartbeatReply ChiefProcess::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request) {
  v1::WorkerHeartbeatReply reply = machine_.WorkerHeartbeat(request, Now());
  Perform();
  return reply;
}

void ChiefProcess::Watch(const Life& watcher, std::function<void(const v1::View&)> on_view,
                         std::function<void()> on_end) {
  auto stream = std::make_shared<Network::Stream>();
  stream->from = life_;
  stream->to = watcher;
  stream->on_broken = std::move(on_end);
  watchers_.push_back({stream, std::move(on_view)});
  SendView(watchers_.back(), machine_.view());
}

void Watch(Cast& cast, const Life& life, std::function<void(const v1::View&)> on_view,
           std::function<void()> on_end) {
  // The stream may end, and its call may fail: the watcher hears of one of them.
  auto told = std::make_shared<bool>(false);
  const auto end = [told, on_end = std::move(on_end)] {
    if (!std::exchange(*told, true)) on_end();
  };
  cast.network().Call<bool>(
      life, cast.chief_host(), kWatchTimeout,
      [&cast, life, on_view = std::move(on_view), end](Done<bool> answer, absl::Time) {
        if (cast.chief() == nullptr) return;
        cast.chief()->Watch(life, on_view, end);
        answer(true);
      },
      [end](const absl::StatusOr<bool>& begun) {
        if (!begun.ok()) end();
      });
}

// ---- what the machine asks for ----

void ChiefProcess::Perform() {
  for (const chief::Action& action : machine_.TakeActions()) {
    std::visit([this](const auto& each) { Do(each); }, action);
  }
}

void ChiefProcess::Do(const chief::PublishView& action) {
  cast_.checks().OnView(action.view);
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.stream->broken; });
  for (const Watcher& watcher : watchers_) SendView(watcher, action.view);
}

void ChiefProcess::SendView(const Watcher& watcher, const v1::View& view) {
  cast_.network().Send(watcher.stream, [on_view = watcher.on_view, view] { on_view(view); });
}

template <typename Reply, typename Serve>
void ChiefProcess::Call(const chief::CallShard& action, const Serve& serve) {
  cast_.network().Call<Reply>(
      life_, cast_.shard_host(action.shard), action.deadline,
      [&cast = cast_, index = action.shard, serve](Done<Reply> answer, absl::Time deadline) {
        if (ShardProcess* shard = cast.shard(index)) serve(*shard, answer, deadline);
      },
      [this, call = action.call](absl::StatusOr<Reply> reply) {
        absl::StatusOr<chief::ShardReply> either =
            reply.ok() ? absl::StatusOr<chief::ShardReply>(*std::move(reply)) : reply.status();
        machine_.OnShardReply(call, std::move(either), Now());
        Perform();
      });
}

void ChiefProcess::Do(const chief::CallShard& action) {
  if (const auto* hold = std::get_if<v1::HoldRoundsRequest>(&action.request)) {
    Call<v1::HoldRoundsReply>(
        action, [hold = *hold](ShardProcess& shard, const auto& answer, absl::Time deadline) {
          shard.HoldRounds(hold, deadline, answer);
        });
  }
  if (const auto* commit = std::get_if<v1::CommitRoundRequest>(&action.request)) {
    Call<v1::CommitRoundReply>(
        action, [commit = *commit](ShardProcess& shard, const auto& answer, absl::Time) {
          answer(shard.CommitRound(commit));
        });
  }
  if (const auto* close = std::get_if<v1::CloseStreamsRequest>(&action.request)) {
    Call<v1::CloseStreamsReply>(
        action, [close = *close](ShardProcess& shard, const auto& answer, absl::Time) {
          answer(shard.CloseStreams(close));
        });
  }
  if (const auto* load = std::get_if<v1::LoadPartitionsRequest>(&action.request)) {
    Call<v1::LoadPartitionsReply>(
        action, [load = *load](ShardProcess& shard, const auto& answer, absl::Time) {
          answer(shard.LoadPartitions(load));
        });
  }
  if (const auto* flush = std::get_if<v1::FlushRequest>(&action.request)) {
    Call<v1::FlushReply>(action, [flush = *flush](ShardProcess& shard, const auto& answer,
                                                  absl::Time) { answer(shard.Flush(flush)); });
  }
}

void ChiefProcess::Do(const chief::StoreState&) {
  cast_.network().After(life_, kWriteTakes, [this] {
    machine_.OnStateStored(absl::OkStatus(), Now());
    Perform();
  });
}

void ChiefProcess::Do(const chief::WriteManifest&) {
  cast_.network().After(life_, kWriteTakes, [this] {
    machine_.OnManifestWritten(absl::OkStatus(), Now());
    Perform();
  });
}

void ChiefProcess::Do(const chief::LogEvent& action) {
  std::string text;
  for (const auto& [key, value] : action.fields) absl::StrAppend(&text, " ", key, "=", value);
  cast_.schedule().Note("chief: ", action.message, text);
}

}  // namespace capstan::sim
