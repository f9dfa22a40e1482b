#include "tests/simulation/sim/chief.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/placement/view_reader.h"
#include "capstan/rpc/limits.h"
#include "chief/shell/job_claim.h"
#include "tests/simulation/sim/checks.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kWatchTimeout = absl::Seconds(5);

// Without seals the rule that such a lie takes away is the only one that stands against it.
std::string SealKey(Lie lie, uint64_t run_id) {
  if (lie == Lie::kNewStreams || lie == Lie::kTornSet || lie == Lie::kBelieved) return "";
  return absl::StrCat("the key of ", run_id);
}

}  // namespace

ChiefProcess::ChiefProcess(Cast& cast, const Life& life, const ChiefSetup& setup)
    : cast_(cast),
      life_(life),
      setup_(setup),
      threads_(cast.network(), life),
      open_(cast.store().OpenerFor(threads_)) {
  if (cast.job().options().uri.empty()) {
    Begin(setup.term, {});
    return;
  }
  const std::string folder = absl::StrCat(cast.job().options().uri, "/", cast.job().spec().job());
  store_ = std::make_unique<chief::JobStore>(*open_(folder), *open_(folder + "/checkpoints"));
  claim_ = threads_.Begin([this] { Claim(); });
}

void ChiefProcess::OnKilled() {
  for (const Watcher& watcher : watchers_) cast_.network().Break(watcher.stream);
}

void ChiefProcess::Claim() {
  absl::StatusOr<chief::Claim> claim =
      chief::ClaimJob(*store_, cast_.job().plan(),
                      {.run_id = setup_.run_id,
                       .sleep = [this](absl::Duration length) { (void)threads_.Sleep(length); }},
                      Now());
  if (!cast_.network().Lives(life_)) return;
  if (!claim.ok()) return cast_.Exit(life_, claim.status().message().data());
  std::vector<std::string> ids;
  for (const chief::CheckpointFacts& facts : claim->history.checkpoints) ids.push_back(facts.id);
  cast_.checks().durable().OnClaim(claim->term, ids);
  Begin(claim->term, std::move(claim->history));
}

void ChiefProcess::Begin(uint64_t term, chief::JobHistory history) {
  term_ = term;
  if (cast_.lie() == Lie::kForgetNewest && !history.checkpoints.empty()) {
    history.checkpoints.pop_back();
  }
  machine_.emplace(chief::ChiefOptions{.term = term,
                                       .run_id = setup_.run_id,
                                       .seal_key = SealKey(cast_.lie(), setup_.run_id),
                                       .shards = setup_.shards},
                   cast_.job().plan(), Now(), std::move(history));
  Tick();
}

void ChiefProcess::Tick() {
  machine_->Tick(Now());
  Perform();
  cast_.network().After(life_, kTick, [this] { Tick(); });
}

v1::JobState ChiefProcess::state() const {
  return machine_ ? machine_->state() : v1::JOB_STATE_UNSPECIFIED;
}

// ---- the door ----

absl::StatusOr<v1::RegisterShardReply> ChiefProcess::RegisterShard(
    const v1::RegisterShardRequest& request) {
  const bool watched = IsWatching(machine_->ShardIncarnation(request.index()));
  auto reply = machine_->RegisterShard(request, Now(), watched);
  Perform();
  return reply;
}

absl::StatusOr<v1::RegisterWorkerReply> ChiefProcess::RegisterWorker(
    const v1::RegisterWorkerRequest& request) {
  auto reply = machine_->RegisterWorker(request, Now());
  Perform();
  return reply;
}

v1::ShardHeartbeatReply ChiefProcess::ShardHeartbeat(const v1::ShardHeartbeatRequest& request) {
  // Before, somebody who has read the incarnation in the view says that the shard leaves, and is
  // not heard, whichever chief it tells.
  v1::ShardHeartbeatRequest stolen;
  stolen.set_index(request.index());
  stolen.set_incarnation(request.incarnation());
  stolen.set_draining(true);
  CAPSTAN_CHECK(!machine_->ShardHeartbeat(stolen, Now()).known());
  v1::ShardHeartbeatReply reply = machine_->ShardHeartbeat(request, Now());
  Perform();
  return reply;
}

v1::WorkerHeartbeatReply ChiefProcess::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request) {
  v1::WorkerHeartbeatReply reply = machine_->WorkerHeartbeat(request, Now());
  if (cast_.lie() == Lie::kReassigned) {
    for (v1::Lease& lease : *reply.mutable_leases()) Reassign(lease);
  }
  Perform();
  return reply;
}

void ChiefProcess::Reassign(v1::Lease& lease) const {
  if (lease.first_batch() == 0 || lease.kind() != v1::LEASE_KIND_TASK) return;
  const chief::JobPlan& plan = cast_.job().plan();
  const TaskMix other(plan.train, plan.spec.data(), plan.spec.seed() + 1);
  *lease.mutable_task() = other.TaskAt(lease.data_epoch(), lease.task().index());
}

void ChiefProcess::TakeCheckpoint() {
  machine_->TakeCheckpoint(++askers_, Now());
  Perform();
}

void ChiefProcess::Rebalance() {
  (void)machine_->Rebalance(v1::RebalanceRequest(), Now());
  Perform();
}

void ChiefProcess::OnShardGone(uint32_t index, uint64_t incarnation) {
  if (!serves()) return;
  machine_->OnShardGone(index, incarnation, Now());
  Perform();
}

// The connection of a process ends with it.
bool ChiefProcess::IsWatching(uint64_t shard) const {
  return shard != 0 &&
         std::any_of(watchers_.begin(), watchers_.end(), [this, shard](const Watcher& watcher) {
           return watcher.shard == shard && !watcher.stream->broken &&
                  cast_.network().Lives(watcher.stream->to);
         });
}

void ChiefProcess::Watch(const Life& watcher, uint64_t shard,
                         std::function<void(const v1::View&)> on_message,
                         std::function<void()> on_end) {
  auto stream = std::make_shared<Network::Stream>();
  stream->from = life_;
  stream->to = watcher;
  stream->on_broken = std::move(on_end);
  watchers_.push_back({stream, shard, std::move(on_message), /*told=*/nullptr, {}});
  SendView(watchers_.back(), machine_->view());
}

void Watch(Cast& cast, const Life& life, uint64_t shard,
           std::function<void(const v1::View&)> on_view, std::function<void()> on_end) {
  // The stream may end, and its call may fail: the watcher hears of one of them.
  auto told = std::make_shared<bool>(false);
  const auto end = [told, on_end = std::move(on_end)] {
    if (!std::exchange(*told, true)) on_end();
  };
  CallChief<bool>(
      cast, life, kWatchTimeout,
      [&cast, life, shard, on_view = std::move(on_view), end](ChiefProcess& chief,
                                                              const Done<bool>& answer) {
        auto reader = std::make_shared<ViewReader>(/*most_bytes=*/kMaxMessageBytes);
        const auto read = [&cast, reader, on_view](const v1::View& message) {
          const absl::StatusOr<v1::View> view = reader->Read(message);
          if (!view.ok()) return cast.checks().Violate(std::string(view.status().message()));
          cast.checks().OnHeard(*view);
          on_view(*view);
        };
        chief.Watch(life, shard, read, end);
        answer(true);
      },
      [end](const absl::StatusOr<bool>& begun) {
        if (!begun.ok()) end();
      });
}

}  // namespace capstan::sim
