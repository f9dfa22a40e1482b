// ShardProcess: its door, and what the checks read of it.
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
namespace {

// As ps/shard/ps_service has it.
const absl::Duration kAnswerMargin = 2 * ps::Shard::kTick;

}  // namespace

absl::StatusOr<ps::Shard*> ShardProcess::ShardFor(const v1::RequestHeader& header) const {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckHeader(header));
  return shard_.get();
}

absl::StatusOr<ps::Shard*> ShardProcess::ShardForOrder(const v1::RequestHeader& header) const {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckOrder(header));
  return ShardFor(header);
}

void ShardProcess::Distort(v1::RoundCommit& closed) const {
  if (cast_.lie() != Lie::kTornSet || index_ != 1 || closed.lanes_size() < 2) return;
  closed.mutable_lanes()->RemoveLast();
}

void ShardProcess::Pull(v1::PullRequest request, absl::Time deadline,
                        const Done<v1::PullReply>& done) {
  if (shard_ == nullptr) return done(absl::UnavailableError("the shard waits for the chief"));
  const v1::PullRequest asked = request;
  if (request.has_closed()) Distort(*request.mutable_closed());
  if (cast_.lie() == Lie::kNoWait) request.mutable_header()->set_trainer(0);
  if (cast_.lie() == Lie::kWrongRound) request.set_round(0);
  auto query = ps::PullQuery::Read(ToBuffer(request), shard_->catalog());
  const absl::Status checked =
      query.ok() ? shard_->CheckHeader((*query)->head().header()) : query.status();
  if (!checked.ok()) return done(checked);
  shard_->Pull(*std::move(query), deadline - kAnswerMargin,
               [this, done, asked](const absl::StatusOr<grpc::ByteBuffer>& buffer, absl::Duration) {
                 cast_.schedule().Tell("  shard ", index_, ": pull of ", asked.header().trainer(),
                                       " step ", asked.header().clock(), " round ", asked.round(),
                                       ": ", buffer.status().ToString());
                 if (!buffer.ok()) return done(buffer.status());
                 served_.push_back(asked);
                 if (!acting_) CheckServed();
                 v1::PullReply reply;
                 CAPSTAN_CHECK(reply.ParseFromString(Bytes(*buffer)));
                 done(reply);
               });
}

absl::StatusOr<v1::PushReply> ShardProcess::Push(const v1::PushRequest& request) {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  v1::PushRequest heard = request;
  if (heard.has_stage()) Distort(*heard.mutable_stage()->mutable_closed());
  if (cast_.lie() == Lie::kClockOfAnyView) {
    *heard.mutable_header()->mutable_epoch() = view_.epoch();
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const ps::PushMessage> push,
                           shard_->ReadPush(ToBuffer(heard)));
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckHeader(push->head().header()));
  acting_ = true;
  absl::StatusOr<v1::PushReply> reply;
  {
    auto pushed = shard_->Push(push);  // At its end the pulls that it has released are answered.
    reply = pushed.ok() ? absl::StatusOr<v1::PushReply>(pushed->reply) : pushed.status();
  }
  acting_ = false;
  if (cast_.lie() == Lie::kHastySum && heard.has_stage()) {
    const auto lane = static_cast<LaneIndex>(heard.stage().lane());
    const Generation generation = GenerationFromProto(heard.stage().generation());
    shard_->LearnCounts(heard.header().timeline(),
                        {heard.stage().round(), {{lane, generation, heard.examples()}}, {}});
  }
  const auto origin_of = [this](PartitionIndex index) { return shard_->partition(index).origin(); };
  if (reply.ok()) cast_.checks().OnPushed({{index_, incarnation_}, origin_of}, request, *reply);
  CheckServed();
  return reply;
}

void ShardProcess::CheckServed() {
  for (const v1::PullRequest& pull : std::exchange(served_, {})) {
    cast_.checks().OnPullServed(index_, view_, pull);
  }
}

void ShardProcess::OpenRound(const v1::OpenRoundRequest& request,
                             const Done<v1::OpenRoundReply>& done) {
  const absl::StatusOr<ps::Shard*> shard = ShardFor(request.header());
  if (!shard.ok()) return done(shard.status());
  (*shard)->OpenRound(request, [done](const absl::StatusOr<ps::OpenAnswer>& answer) {
    if (!answer.ok()) return done(answer.status());
    v1::OpenRoundReply reply;
    reply.set_answer(answer->answer);
    reply.set_round(answer->round);
    ToProto(answer->closed, *reply.mutable_closed());
    reply.set_cursor(answer->cursor);
    done(reply);
  });
}

absl::StatusOr<v1::ReportLaneReply> ShardProcess::ReportLane(const v1::ReportLaneRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardFor(request.header()));
  ps::ReplicaWait nobody;  // There are no replicas here.
  return shard->ReportLane(request, nobody);
}

void ShardProcess::HoldRounds(const v1::HoldRoundsRequest& request, absl::Time deadline,
                              const Done<v1::HoldRoundsReply>& done) {
  const absl::StatusOr<ps::Shard*> shard = ShardForOrder(request.header());
  if (!shard.ok()) return done(shard.status());
  (*shard)->HoldRounds(request, deadline - kAnswerMargin, [done](const ps::HoldAnswer& answer) {
    if (!answer.status.ok()) return done(answer.status);
    v1::HoldRoundsReply reply;
    ToProto(answer.last, *reply.mutable_last());
    reply.set_ended(answer.ended);
    for (const ps::CoordinatorState::Lane& lane : answer.lanes) {
      v1::LaneCursor& cursor = *reply.add_lanes();
      cursor.set_cursor(lane.cursor);
      cursor.set_ended(lane.ended);
    }
    done(reply);
  });
}

void ShardProcess::WatchCounts(const v1::WatchCountsRequest& request, absl::Time deadline,
                               const Done<v1::WatchCountsReply>& done) {
  const absl::StatusOr<ps::Shard*> shard = ShardFor(request.header());
  if (!shard.ok()) return done(shard.status());
  (*shard)->WatchCounts(request, deadline - kAnswerMargin, [done](const ps::NewsAnswer& answer) {
    if (!answer.status.ok()) return done(answer.status);
    v1::WatchCountsReply reply;
    ToProto(answer.news, reply);
    done(reply);
  });
}

absl::StatusOr<v1::CommitRoundReply> ShardProcess::CommitRound(
    const v1::CommitRoundRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardForOrder(request.header()));
  cast_.checks().OnRoundCommit(request.header().timeline(),
                               *RoundCommitFromProto(request.closed()));
  if (cast_.lie() == Lie::kNoCommit) return v1::CommitRoundReply();
  v1::CommitRoundRequest heard = request;
  Distort(*heard.mutable_closed());
  CAPSTAN_RETURN_IF_ERROR(shard->CommitRound(heard));
  return v1::CommitRoundReply();
}

absl::StatusOr<v1::CloseStreamsReply> ShardProcess::CloseStreams(
    const v1::CloseStreamsRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardForOrder(request.header()));
  ps::ReplicaWait nobody;  // There are no replicas here.
  CAPSTAN_RETURN_IF_ERROR(shard->CloseStreams(request, nobody));
  cast_.checks().durable().OnStreamsClosed(request);
  return v1::CloseStreamsReply();
}

absl::StatusOr<v1::SavePartitionsReply> ShardProcess::SavePartitions(
    const v1::SavePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardForOrder(request.header()).status());
  return saver_->Order(request);
}

absl::StatusOr<v1::LoadPartitionsReply> ShardProcess::LoadPartitions(
    const v1::LoadPartitionsRequest& request) {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckOrder(request.header()));
  if (cast_.lie() == Lie::kFalseAlarm && cast_.checks().durable().counted_on() > 1) {
    return absl::DataLossError("it is damaged, says one who has not looked");
  }
  CAPSTAN_ASSIGN_OR_RETURN(v1::LoadPartitionsReply reply, loader_->Order(request));
  if (cast_.lie() == Lie::kSilentLoss) reply.clear_batches_lost();
  return reply;
}

absl::StatusOr<v1::MovePartitionsReply> ShardProcess::MovePartitions(
    const v1::MovePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardForOrder(request.header()).status());
  absl::StatusOr<v1::MovePartitionsReply> reply = mover_->Order(request);
  const bool thaws = cast_.lie() == Lie::kThawsAlone && request.finish() && reply.ok();
  for (int i = 0; thaws && i < request.partitions_size(); ++i) {
    shard_->partition(static_cast<PartitionIndex>(request.partitions(i)))
        .ThawUnless(std::nullopt, cast_.schedule().Now());
  }
  cast_.schedule().Tell("  shard ", index_, ": ", request.finish() ? "finish" : "copy", " moves ",
                        request.id().term(), ".", request.id().n(), ": ",
                        reply.ok() ? reply->ShortDebugString() : reply.status().ToString());
  return reply;
}

absl::StatusOr<v1::TakePartitionReply> ShardProcess::TakePartition(
    const v1::TakePartitionRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardFor(request.header()).status());
  absl::StatusOr<v1::TakePartitionReply> reply = staged_->Take(request);
  cast_.schedule().Tell("  shard ", index_, " takes ", request.piece().size(), " bytes at ",
                        request.offset(), request.rest() ? " of the rest" : "", " of partition ",
                        request.partition(), ": ",
                        reply.ok() ? reply->ShortDebugString() : reply.status().ToString());
  return reply;
}

absl::StatusOr<v1::FlushReply> ShardProcess::Flush(const v1::FlushRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardForOrder(request.header()));
  v1::FlushReply reply;
  ps::ReplicaWait nobody;  // There are no replicas here.
  if (cast_.lie() != Lie::kNoFlush) reply.set_gradients(shard->Flush(nobody));
  return reply;
}

// ---- for the checks ----

Cells ShardProcess::Read() {
  return ready() ? ReadCells(cast_.job(), *shard_, placed_, index_) : Cells();
}

}  // namespace capstan::sim
