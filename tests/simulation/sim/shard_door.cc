// ShardProcess: its door, and what the checks read of it.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/messages.h"
#include "tests/simulation/sim/model.h"
#include "tests/simulation/sim/shard.h"

namespace capstan::sim {

// Has `done` hear of nothing once the process is ending.
template <typename Reply>
ps::Answered<Reply> ShardProcess::WhileItLives(const Done<Reply>& done) const {
  return [this, done](absl::StatusOr<Reply> answer) {
    if (!ending_) done(std::move(answer));
  };
}

absl::Duration ShardProcess::PatienceUntil(absl::Time deadline) const {
  return deadline - cast_.schedule().Now();
}

void ShardProcess::Distort(v1::RoundCommit& closed) const {
  if (cast_.lie() != Lie::kTornSet || index_ != 1 || closed.lanes_size() < 2) return;
  closed.mutable_lanes()->RemoveLast();
}

void ShardProcess::Pull(v1::PullRequest request, absl::Time deadline,
                        const Done<v1::PullReply>& done) {
  const v1::PullRequest asked = request;
  if (request.has_closed()) Distort(*request.mutable_closed());
  if (cast_.lie() == Lie::kNoWait) request.mutable_header()->set_trainer(0);
  if (cast_.lie() == Lie::kWrongRound) request.set_round(0);
  auto query = door().ReadPull(ToBuffer(request));
  if (!query.ok()) return done(query.status());
  door().Pull(*std::move(query), PatienceUntil(deadline),
              [this, done, asked](const absl::StatusOr<grpc::ByteBuffer>& buffer, absl::Duration) {
                cast_.schedule().Tell("  shard ", index_, ": pull of ", asked.header().trainer(),
                                      " step ", asked.header().clock(), " round ", asked.round(),
                                      ": ", buffer.status().ToString());
                if (ending_) return;
                if (!buffer.ok()) return done(buffer.status());
                cast_.checks().OnPullAnswered({{index_, incarnation_}, OriginsOf(asked)},
                                              asked.header().timeline());
                answered_.push_back(asked);
                if (!acting_) CheckServed();
                v1::PullReply reply;
                CAPSTAN_CHECK(reply.ParseFromString(Bytes(*buffer)));
                done(reply);
              });
}

absl::StatusOr<ps::Shard::Pushed> ShardProcess::PushNow(const v1::PushRequest& request) {
  v1::PushRequest heard = request;
  if (heard.stage().has_closed()) Distort(*heard.mutable_stage()->mutable_closed());
  if (cast_.lie() == Lie::kClockOfAnyView) {
    *heard.mutable_header()->mutable_epoch() = view_.epoch();
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const ps::PushMessage> push,
                           door().ReadPush(ToBuffer(heard)));
  return door().Push(push);
}

template <typename Request>
std::map<uint32_t, ViewEpoch> ShardProcess::OriginsOf(const Request& request) {
  std::map<uint32_t, ViewEpoch> origins;
  for (const auto& part : request.partitions()) {
    const auto partition = static_cast<PartitionIndex>(part.partition());
    origins[part.partition()] = shard_->partitions()[partition].origin();
  }
  return origins;
}

// What the push has released is answered after it; its sender hears of it when backups have it.
void ShardProcess::Push(const v1::PushRequest& request, const Done<v1::PushReply>& done) {
  acting_ = true;
  absl::StatusOr<ps::Shard::Pushed> pushed = PushNow(request);
  if (pushed.ok() && cast_.lie() == Lie::kAlone) pushed->replicated = {};
  if (pushed.ok() && early()) pushed->reply.clear_asks_for_commits();
  if (pushed.ok() && pushed->replicated.empty()) ps::ReleasedPulls(std::move(pushed->released));
  acting_ = false;
  if (!pushed.ok()) {
    cast_.schedule().Tell("  shard ", index_, " refuses a push: ", pushed.status().ToString());
    CheckServed();
    return done(pushed.status());
  }
  if (cast_.lie() == Lie::kHastySum && request.has_stage()) {
    const auto lane = static_cast<LaneIndex>(request.stage().lane());
    const Generation generation = GenerationFromProto(request.stage().generation());
    (void)shard_->rounds().LearnCounts(
        request.header().timeline(),
        {request.stage().round(), {{lane, generation, request.examples()}}, {}});
  }
  const Checks::Place place{{index_, incarnation_}, OriginsOf(pushed->reply)};
  cast_.checks().OnPushed(place, request, pushed->reply);
  CheckServed();
  std::move(pushed->replicated)
      .Then([this, place, request, done, reply = pushed->reply, view = view_,
             released = std::move(pushed->released)](const absl::Status& status) mutable {
        if (ending_) return;
        if (status.ok()) cast_.checks().OnAcknowledged(place, request, reply);
        done(status.ok() ? absl::StatusOr<v1::PushReply>(reply) : status);
        if (!released.empty()) ReleaseLate(std::move(released), view);
      });
}

// Their turn came while the trainers were those of that view: those who have come since they could
// not wait for.
void ShardProcess::ReleaseLate(ps::ReleasedPulls released, const v1::View& view) {
  std::vector<v1::PullRequest> others = std::exchange(answered_, {});
  const bool acting = std::exchange(acting_, true);
  ps::ReleasedPulls(std::move(released));
  acting_ = acting;
  for (const v1::PullRequest& pull : std::exchange(answered_, std::move(others))) {
    cast_.checks().OnPullServed(index_, view, pull);
  }
}

void ShardProcess::CheckServed() {
  for (const v1::PullRequest& pull : std::exchange(answered_, {})) {
    cast_.checks().OnPullServed(index_, view_, pull);
  }
}

void ShardProcess::OpenRound(const v1::OpenRoundRequest& request,
                             const Done<v1::OpenRoundReply>& done) {
  door().OpenRound(request, WhileItLives(done));
}

void ShardProcess::ReportLane(const v1::ReportLaneRequest& request,
                              const Done<v1::ReportLaneReply>& done) {
  door().ReportLane(request, WhileItLives(done));
}

void ShardProcess::WatchCounts(const v1::WatchCountsRequest& request, absl::Time deadline,
                               const Done<v1::WatchCountsReply>& done) {
  door().WatchCounts(request, PatienceUntil(deadline), WhileItLives(done));
}

// ---- orders of the chief ----

void ShardProcess::Order(const AnyMessage& order, absl::Time deadline,
                         const Done<AnyMessage>& done) {
  const auto* const commit = order.As<v1::CommitRoundRequest>();
  if (commit != nullptr && door().ForOrder(commit->header()).ok()) {
    cast_.checks().OnRoundCommit(commit->header().timeline(),
                                 *RoundCommitFromProto(commit->closed()));
  }
  const auto* const close = order.As<v1::CloseStreamsRequest>();
  if (close != nullptr && door().ForOrder(close->header()).ok()) {
    cast_.checks().durable().OnStreamsClosed(*close);
  }
  if (const auto answer = FalseAnswer(order)) return done(*answer);
  door().Order(Heard(order), PatienceUntil(deadline),
               [this, order, done = WhileItLives(done)](absl::StatusOr<AnyMessage> reply) mutable {
                 if (const auto* const move = order.As<v1::MovePartitionsRequest>()) {
                   OnMoveOrdered(*move, reply);
                 }
                 done(reply.ok() ? absl::StatusOr<AnyMessage>(Told(*reply)) : reply);
               });
}

// The order as the shard takes it.
AnyMessage ShardProcess::Heard(const AnyMessage& order) const {
  const auto* const commit = order.As<v1::CommitRoundRequest>();
  if (commit == nullptr) return order;
  v1::CommitRoundRequest heard = *commit;
  Distort(*heard.mutable_closed());
  return heard;
}

// An answer of a shard that has not done what it was told to.
std::optional<absl::StatusOr<AnyMessage>> ShardProcess::FalseAnswer(const AnyMessage& order) const {
  const Lie lie = cast_.lie();
  if (lie == Lie::kNoCommit && order.Is<v1::CommitRoundRequest>()) {
    return AnyMessage(v1::CommitRoundReply());
  }
  if (lie == Lie::kNoFlush && order.Is<v1::FlushRequest>()) return AnyMessage(v1::FlushReply());
  if (lie == Lie::kFalseAlarm && order.Is<v1::LoadPartitionsRequest>() &&
      cast_.checks().durable().counted_on() > 1) {
    return absl::DataLossError("it is damaged, says one who has not looked");
  }
  return std::nullopt;
}

// The reply as the shard tells it.
AnyMessage ShardProcess::Told(const AnyMessage& reply) const {
  const auto* const loaded = reply.As<v1::LoadPartitionsReply>();
  if (loaded == nullptr || cast_.lie() != Lie::kSilentLoss) return reply;
  v1::LoadPartitionsReply told = *loaded;
  told.clear_batches_lost();
  return told;
}

void ShardProcess::OnMoveOrdered(const v1::MovePartitionsRequest& order,
                                 const absl::StatusOr<AnyMessage>& reply) {
  const bool thaws = cast_.lie() == Lie::kThawsAlone && order.finish() && reply.ok();
  for (int i = 0; thaws && i < order.partitions_size(); ++i) {
    shard_->partitions()[static_cast<PartitionIndex>(order.partitions(i))].ThawUnless(
        std::nullopt, cast_.schedule().Now());
  }
  cast_.schedule().Tell("  shard ", index_, ": ", order.finish() ? "finish" : "copy", " moves ",
                        order.id().term(), ".", order.id().n(), ": ",
                        reply.ok() ? (*reply)->ShortDebugString() : reply.status().ToString());
}

// ---- what other shards send ----

absl::StatusOr<v1::TakePartitionReply> ShardProcess::TakePartition(
    const v1::TakePartitionRequest& request) {
  absl::StatusOr<v1::TakePartitionReply> reply = door().Take(request);
  cast_.schedule().Tell("  shard ", index_, " takes ", request.piece().size(), " bytes at ",
                        request.offset(), request.rest() ? " of the rest" : "", " of partition ",
                        request.partition(), ": ",
                        reply.ok() ? reply->ShortDebugString() : reply.status().ToString());
  return reply;
}

absl::StatusOr<v1::ReplicateReply> ShardProcess::Replicate(const grpc::ByteBuffer& bytes) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<const ps::ReplicateMessage> message,
                           ps::ReplicateMessage::Read(bytes));
  const v1::ReplicateRequest& request = message->head();
  CAPSTAN_ASSIGN_OR_RETURN(v1::ReplicateReply reply, door().Replicate(*message));
  uint64_t number = request.first();
  for (const v1::Operation& operation : request.operations()) {
    const bool refused = std::count(reply.refused().begin(), reply.refused().end(), number) > 0;
    if (number++ > reply.taken() || refused || !operation.has_push()) continue;
    const auto push = ps::PushMessage::ReadHead(message->push(operation.push().push()));
    CAPSTAN_CHECK(push.ok());
    cast_.checks().OnReplayed(*push, operation.partition());
  }
  cast_.schedule().Tell("  shard ", index_, " replays ", request.operations_size(), " from ",
                        request.first(), " of stream ", request.stream(), ": ",
                        reply.ShortDebugString());
  return reply;
}

// ---- for the checks ----

Reading ShardProcess::Read(const v1::View& view) {
  if (ready()) return ReadCells(cast_.job(), *shard_, view, index_);
  return {.cells = {},
          .status = absl::UnavailableError(shard_ == nullptr ? "the shard waits for the chief"
                                                             : "the shard has loaded nothing")};
}

}  // namespace capstan::sim
