#include "tests/simulation/sim/lease_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/client/chunk_lifecycle.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/stream_push.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/shard.h"
#include "worker/session/round_calls.h"

namespace capstan::sim {
namespace {

// As worker/shell/step_requests has it.
constexpr absl::Duration kCallTimeout = absl::Seconds(15);

constexpr size_t kChunksInFlight = 2;  // Fewer than a push may have.

constexpr absl::Duration kShortestStep = absl::Milliseconds(150);
constexpr absl::Duration kLongestStep = absl::Milliseconds(700);
constexpr float kExampleLoss = 0.5F;

void SetLane(const worker::LaneName& lane, v1::LaneStage& stage) {
  stage.set_lane(static_cast<uint32_t>(Raw(lane.lane)));
  ToProto(lane.generation, *stage.mutable_generation());
  stage.set_round(lane.round);
  if (lane.closed != nullptr) ToProto(*lane.closed, *stage.mutable_closed());
}

void Summarize(const v1::PushReply& reply, worker::OutcomeSummary& outcomes) {
  for (const v1::PartitionOutcome& outcome : reply.partitions()) {
    outcomes.Count(outcome.dense());
    outcomes.Count(outcome.sparse());
  }
}

// Hands a request that has arrived to the shard's door for it.
void Serve(ShardProcess& shard, const v1::PullRequest& request, absl::Time deadline,
           const Done<v1::PullReply>& done) {
  shard.Pull(request, deadline, done);
}
void Serve(ShardProcess& shard, const v1::PushRequest& request, absl::Time /*deadline*/,
           const Done<v1::PushReply>& done) {
  shard.Push(request, done);
}
void Serve(ShardProcess& shard, const v1::OpenRoundRequest& request, absl::Time /*deadline*/,
           const Done<v1::OpenRoundReply>& done) {
  shard.OpenRound(request, done);
}
void Serve(ShardProcess& shard, const v1::ReportLaneRequest& request, absl::Time /*deadline*/,
           const Done<v1::ReportLaneReply>& done) {
  shard.ReportLane(request, done);
}

}  // namespace

LeaseCalls::LeaseCalls(const TrainerContext& trainer, const v1::Lease& lease)
    : trainer_(trainer), cast_(trainer.cast), lease_(lease), feed_(trainer.cast.job(), lease) {}

template <typename Callback>
auto LeaseCalls::Guard(Callback callback) {
  return [alive = alive_, callback = std::move(callback)](auto&&... arguments) {
    if (*alive) callback(std::forward<decltype(arguments)>(arguments)...);
  };
}

void LeaseCalls::Later(absl::Duration wait, std::function<void()> event) {
  cast_.network().After(trainer_.life, wait, Guard(std::move(event)));
}

v1::RequestHeader LeaseCalls::HeaderTo(uint32_t shard, uint64_t clock) const {
  v1::RequestHeader header = HeaderFor(trainer_.view, shard);
  header.set_trainer(Raw(trainer_.trainer));
  header.set_clock(clock);
  return header;
}

template <typename Reply, typename Request>
void LeaseCalls::Call(uint32_t shard, std::shared_ptr<Request> request, absl::Duration timeout,
                      Done<Reply> done) {
  const auto serve = [&cast = cast_, shard, request](const Done<Reply>& answer, absl::Time by) {
    if (ShardProcess* process = cast.shard(shard)) Serve(*process, *request, by, answer);
  };
  cast_.network().Call<Reply>(trainer_.life, cast_.shard_host(shard), timeout, serve,
                              Guard(std::move(done)));
}

template <typename Reply, typename Request>
void LeaseCalls::CallOfRound(uint32_t shard, std::shared_ptr<Request> request, Done<Reply> done) {
  if (!asking_.contains(request->header().target_incarnation())) {
    return Call<Reply>(shard, request, kCallTimeout, done);
  }
  auto without = std::make_shared<Request>(*request);
  LeaveOutCommit(*without);
  Call<Reply>(shard, without, kCallTimeout,
              [this, shard, request, done](const absl::StatusOr<Reply>& reply) {
                if (!absl::IsOutOfRange(reply.status())) return done(reply);
                Call<Reply>(shard, request, kCallTimeout, done);
              });
}

// ---- pulling and computing ----

void LeaseCalls::Do(const worker::SendPull& action) {
  const std::shared_ptr<Step> step = steps_.at(action.batch);
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  auto request = std::make_shared<v1::PullRequest>();
  *request->mutable_header() = HeaderTo(shard, action.clock);
  request->set_evaluation(action.evaluation);
  if (action.lane) {
    request->set_round(action.lane->round);
    ToProto(*action.lane->closed, *request->mutable_closed());
  }
  AddPull(cast_.job(), step->batch, trainer_.view, shard, *request);
  const uint64_t number = ++pulls_[{action.batch, action.shard}];
  cast_.checks().OnPullSent(trainer_.trainer, lease_.generation(), *request, step->batch);
  CallOfRound<v1::PullReply>(
      shard, request,
      [this, step, request, action, number](const absl::StatusOr<v1::PullReply>& reply) {
        if (pulls_[{action.batch, action.shard}] != number) return;  // Cancelled.
        if (reply.ok()) {
          Step got;
          TakeValues(cast_.job(), *request, *reply, got);
          cast_.checks().OnPulled(lease_, *request, got.pulled);
          for (const auto& [cell, value] : got.pulled) step->pulled[cell] = value;
          for (const auto& [partition, version] : got.versions) step->versions[partition] = version;
          for (const auto& [key, version] : got.row_versions) step->row_versions[key] = version;
        }
        events_->Deliver(worker::PullDone{action.ticket, reply.status(), {}});
      });
}

void LeaseCalls::Do(const worker::Compute& action) {
  Schedule& schedule = cast_.schedule();
  const absl::Duration takes = schedule.Between(kShortestStep, kLongestStep) * trainer_.slowness;
  trainer_.busy_until = std::max(trainer_.busy_until, Now()) + takes;
  Later(trainer_.busy_until - Now(), [this, number = action.batch] {
    const auto found = steps_.find(number);
    if (found == steps_.end()) return;
    Step& step = *found->second;
    if (!evaluates()) step.gradient = cast_.job().Gradient(step.batch, step.pulled);
    events_->Deliver(
        worker::Computed{.batch = number, .loss_sum = kExampleLoss * step.batch.records.size()});
  });
}

// ---- pushing ----

// As capstan/client does it, with a call for each partition.
struct LeaseCalls::Push {
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

void LeaseCalls::Do(const worker::SendPush& action) {
  const std::shared_ptr<Step> step = steps_.at(action.batch);
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  v1::PushRequest request;
  *request.mutable_header() = HeaderTo(shard);
  request.set_examples(static_cast<uint32_t>(step->batch.records.size()));
  if (action.stream) {
    ToProto(*action.stream, *request.mutable_stream());
    if (cast_.lie() == Lie::kNewStreams)
      request.mutable_stream()->set_stream(cast_.NewIncarnation());
  }
  if (action.stage) SetLane(*action.stage, *request.mutable_stage());
  if (cast_.lie() == Lie::kNoRowVersions) step->row_versions.clear();
  if (!action.empty) AddGradients(cast_.job(), *step, trainer_.view, shard, request);
  const uint64_t early = action.clock > 0 && cast_.lie() == Lie::kEagerClock ? 1 : 0;
  std::shared_ptr<Push>& push = pushes_[{action.batch, action.shard}];
  if (push != nullptr) push->lifecycle.Stop();
  push =
      std::make_shared<Push>(action.ticket, action.shard, ChunksOf(request), action.clock + early);
  SendChunks(push);
}

void LeaseCalls::SendChunks(const std::shared_ptr<Push>& push) {
  while (const std::optional<size_t> chunk = push->lifecycle.Next(kChunksInFlight)) {
    ++push->under_way;
    SendChunk(push, *chunk);
  }
  if (push->under_way == 0) events_->Deliver(push->done);
}

void LeaseCalls::SendChunk(const std::shared_ptr<Push>& push, size_t chunk) {
  auto request = std::make_shared<v1::PushRequest>(push->chunks[chunk]);
  const bool tells = push->lifecycle.LastTellsClock() || cast_.lie() == Lie::kClockInAllCalls;
  request->mutable_header()->set_clock(tells ? push->clock : 0);
  CallOfRound<v1::PushReply>(
      push->shard, request, [this, push, request](const absl::StatusOr<v1::PushReply>& reply) {
        worker::PushDone& all = push->done;
        --push->under_way;
        if (reply.ok()) {
          if (reply->asks_for_commits()) asking_.insert(request->header().target_incarnation());
          Summarize(*reply, all.outcomes);
          all.retry_after = std::max(all.retry_after, absl::Seconds(reply->retry_after_seconds()));
        } else {
          if (all.status.ok()) all.status = reply.status();
          push->lifecycle.Stop();
        }
        if (cast_.lie() == Lie::kForgetfulWorker) {
          all.status = absl::OkStatus();
          all.outcomes = {};
        }
        push->lifecycle.Answered(push->Settled());
        SendChunks(push);
      });
}

void LeaseCalls::Do(const worker::SendClock& action) {
  const auto shard = static_cast<uint32_t>(Raw(action.shard));
  auto request = std::make_shared<v1::PushRequest>();
  *request->mutable_header() = HeaderTo(shard, action.clock);
  if (action.stream) ToProto(*action.stream, *request->mutable_stream());
  if (action.stage) SetLane(*action.stage, *request->mutable_stage());
  cast_.checks().OnClockTold(trainer_.trainer, request->header());
  Call<v1::PushReply>(shard, request, kCallTimeout,
                      [this, ticket = action.ticket](const absl::StatusOr<v1::PushReply>& reply) {
                        events_->Deliver(worker::ClockDone{ticket, reply.status()});
                      });
}

// ---- rounds ----

void LeaseCalls::Open(const worker::SendOpen& action, absl::Time /*asked*/,
                      std::optional<worker::WaitingTurns::Turn> turn) {
  if (turn) turns_.emplace(action.ticket, *std::move(turn));
  const uint32_t shard = trainer_.view.owners(0);
  auto request = std::make_shared<v1::OpenRoundRequest>(worker::ToRequest(action));
  *request->mutable_header() = HeaderTo(shard);
  Call<v1::OpenRoundReply>(
      shard, request, action.wait + worker::kOpenSlack,
      [this, ticket = action.ticket](const absl::StatusOr<v1::OpenRoundReply>& reply) {
        worker::OpenDone event = worker::ToEvent(ticket, reply);
        if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_OPEN) {
          cast_.checks().OnRoundCommit(lease_.timeline(), event.closed);
        }
        events_->Deliver(std::move(event));
        // Taken out before it ends, for with its end another call of this lease may begin.
        const auto turn = turns_.extract(ticket);
      });
}

void LeaseCalls::Do(const worker::SendReport& action) {
  const uint32_t shard = trainer_.view.owners(0);
  auto request = std::make_shared<v1::ReportLaneRequest>(worker::ToRequest(action));
  *request->mutable_header() = HeaderTo(shard);
  Call<v1::ReportLaneReply>(
      shard, request, worker::kReportTimeout,
      [this, ticket = action.ticket](const absl::StatusOr<v1::ReportLaneReply>& reply) {
        events_->Deliver(worker::ToEvent(ticket, reply));
      });
}

// ---- what the session tells ----

void LeaseCalls::OnHandled(const worker::Event& event, const worker::RunnerMachine& machine) {
  cast_.schedule().Tell("  lease ", lease_.generation().count(), " of ", Raw(trainer_.trainer),
                        ": event ", event.index(), ", ", machine.DebugString(), ", ",
                        trainer_.clock.DebugString());
  trainer_.wake();
}

void LeaseCalls::OnFinished(bool /*lost*/) {
  cast_.checks().OnLeaseOver(trainer_.trainer, lease_.generation());
}

}  // namespace capstan::sim
