#include "ps/door/shard_door.h"

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/round_commit.h"
#include "google/protobuf/descriptor.h"
#include "ps/partition/replica_wait.h"
#include "ps/shard/coordinator_shell.h"

namespace capstan::ps {
namespace {

// The shard ends waits a little before the caller's patience does, so that the answer still reaches
// the caller although the shard checks waits only once per tick. A hundredth more, because gRPC
// tells a server its caller's patience rounded up: below 10 s to 10 ms, below 100 s to 100 ms, and
// above that to a second (Timeout::FromMillis of its chttp2 transport).
absl::Time EndOfWait(const Shard& shard, absl::Duration patience) {
  return shard.clock().Now() + patience - 2 * Shard::kTick - patience / 100;
}

// Each lane is sent the commit, although a worker with many lanes gets it many times: its lanes
// wait at the same time, so none can know when it asks what another one will have received.
// Compared with a gradient that is sent to all shards, 12 KB, with a thousand lanes, are little.
v1::OpenRoundReply ToReply(const OpenAnswer& opened) {
  v1::OpenRoundReply reply;
  reply.set_answer(opened.answer);
  reply.set_round(opened.round);
  ToProto(opened.closed, *reply.mutable_closed());
  reply.set_cursor(opened.cursor);
  return reply;
}

v1::HoldRoundsReply ToReply(const HoldAnswer& held) {
  v1::HoldRoundsReply reply;
  ToProto(held.last, *reply.mutable_last());
  reply.set_ended(held.ended);
  for (const CoordinatorState::Lane& lane : held.lanes) {
    v1::LaneCursor& cursor = *reply.add_lanes();
    cursor.set_cursor(lane.cursor);
    cursor.set_ended(lane.ended);
  }
  return reply;
}

// Answers with `reply` once backups have carried out the operations in `replicated`, or with the
// error of a pair that has ended.
template <typename Reply>
void AnswerOnce(ReplicaWait replicated, Reply reply, Answered<Reply> done) {
  std::move(replicated)
      .Then([reply = std::move(reply), done = std::move(done)](const absl::Status& status) mutable {
        if (status.ok()) {
          done(std::move(reply));
        } else {
          done(status);
        }
      });
}

// ---- orders of the chief: each has its function here, and its entry in AllHandlers ----

std::optional<WaiterId> HoldRounds(const ShardDoor& door, const AnyMessage& order,
                                   absl::Duration patience, Answered<AnyMessage> done) {
  const auto& request = order.Get<v1::HoldRoundsRequest>();
  const absl::StatusOr<const ServedShard*> at = door.ForOrder(request.header());
  if (!at.ok()) {
    done(at.status());
    return std::nullopt;
  }
  Shard& shard = (*at)->shard;
  return shard.coordinator().Hold(request, EndOfWait(shard, patience),
                                  [done = std::move(done)](const HoldAnswer& answer) mutable {
                                    if (answer.status.ok()) {
                                      done(AnyMessage(ToReply(answer)));
                                    } else {
                                      done(answer.status);
                                    }
                                  });
}

absl::StatusOr<v1::CommitRoundReply> CommitRound(const ServedShard& at,
                                                 const v1::CommitRoundRequest& order,
                                                 ReplicaWait& replicated) {
  CAPSTAN_RETURN_IF_ERROR(at.shard.CommitRound(order, replicated));
  return v1::CommitRoundReply();
}

absl::StatusOr<v1::CloseStreamsReply> CloseStreams(const ServedShard& at,
                                                   const v1::CloseStreamsRequest& order,
                                                   ReplicaWait& replicated) {
  CAPSTAN_RETURN_IF_ERROR(at.shard.CloseStreams(order, replicated));
  return v1::CloseStreamsReply();
}

absl::StatusOr<v1::FlushReply> Flush(const ServedShard& at, const v1::FlushRequest&,
                                     ReplicaWait& replicated) {
  v1::FlushReply reply;
  reply.set_gradients(at.shard.Flush(replicated));
  return reply;
}

absl::StatusOr<v1::SavePartitionsReply> SavePartitions(const ServedShard& at,
                                                       const v1::SavePartitionsRequest& order,
                                                       ReplicaWait&) {
  return at.saver.Order(order);
}

absl::StatusOr<v1::LoadPartitionsReply> LoadPartitions(const ServedShard& at,
                                                       const v1::LoadPartitionsRequest& order,
                                                       ReplicaWait&) {
  return at.loader.Order(order);
}

absl::StatusOr<v1::MovePartitionsReply> MovePartitions(const ServedShard& at,
                                                       const v1::MovePartitionsRequest& order,
                                                       ReplicaWait&) {
  return at.mover.Order(order);
}

using Handler = std::function<std::optional<WaiterId>(
    const ShardDoor&, const AnyMessage& order, absl::Duration patience, Answered<AnyMessage>)>;
// By the type of the order.
using Handlers = std::map<const google::protobuf::Descriptor*, Handler>;

// Returns the handler of an order that `carry_out` carries out if `checked` accepts the header. It
// is answered once backups have carried out what `carry_out` adds to the ReplicaWait.
template <typename Request, typename Reply>
Handlers::value_type Of(
    absl::StatusOr<Reply> (*carry_out)(const ServedShard&, const Request&, ReplicaWait&),
    absl::StatusOr<const ServedShard*> (ShardDoor::*checked)(const v1::RequestHeader&)
        const = &ShardDoor::ForOrder) {
  const auto handle = [carry_out, checked](const ShardDoor& door, const AnyMessage& order,
                                           absl::Duration,
                                           Answered<AnyMessage> done) -> std::optional<WaiterId> {
    const auto& request = order.Get<Request>();
    const absl::StatusOr<const ServedShard*> at = (door.*checked)(request.header());
    ReplicaWait replicated;
    absl::StatusOr<Reply> reply =
        at.ok() ? carry_out(**at, request, replicated) : absl::StatusOr<Reply>(at.status());
    if (reply.ok()) {
      AnswerOnce(std::move(replicated), AnyMessage(*std::move(reply)), std::move(done));
    } else {
      done(reply.status());
    }
    return std::nullopt;
  };
  return {Request::descriptor(), handle};
}

const Handlers& AllHandlers() {
  static const Handlers handlers = {{v1::HoldRoundsRequest::descriptor(), HoldRounds},
                                    Of(CommitRound),
                                    Of(CloseStreams),
                                    Of(Flush),
                                    Of(SavePartitions),
                                    Of(LoadPartitions, &ShardDoor::ForLoad),
                                    Of(MovePartitions)};
  return handlers;
}

}  // namespace

absl::StatusOr<const ServedShard*> ShardDoor::Served() const {
  if (served_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  return served_;
}

absl::StatusOr<Shard*> ShardDoor::ForData(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckHeader(header));
  return &served_->shard;
}

absl::StatusOr<const ServedShard*> ShardDoor::ForOrder(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(ForLoad(header).status());
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckHeader(header));
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckFollowed(header));
  return served_;
}

absl::StatusOr<const ServedShard*> ShardDoor::ForLoad(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckOrder(header));
  return served_;
}

std::optional<WaiterId> ShardDoor::Order(const AnyMessage& order, absl::Duration patience,
                                         Answered<AnyMessage> done) const {
  const Handlers& handlers = AllHandlers();
  const auto handler = handlers.find(order->GetDescriptor());
  if (handler != handlers.end()) return handler->second(*this, order, patience, std::move(done));
  done(absl::UnimplementedError(absl::StrCat("a shard knows no order ", order->GetTypeName())));
  return std::nullopt;
}

// ---- parameters ----

absl::StatusOr<std::unique_ptr<const PullQuery>> ShardDoor::ReadPull(
    const grpc::ByteBuffer& request) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<const PullQuery> query,
                           PullQuery::Read(request, served_->shard.catalog()));
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckHeader(query->head().header()));
  return query;
}

absl::StatusOr<std::shared_ptr<const PushMessage>> ShardDoor::ReadPush(
    const grpc::ByteBuffer& request) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const PushMessage> push,
                           served_->shard.ReadPush(request));
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckHeader(push->head().header()));
  return push;
}

std::optional<WaiterId> ShardDoor::Pull(std::unique_ptr<const PullQuery> query,
                                        absl::Duration patience, Shard::OnPulled done) const {
  return served_->shard.Pull(std::move(query), EndOfWait(served_->shard, patience),
                             std::move(done));
}

absl::StatusOr<Shard::Pushed> ShardDoor::Push(
    const std::shared_ptr<const PushMessage>& push) const {
  return served_->shard.Push(push);
}

// ---- rounds ----

std::optional<WaiterId> ShardDoor::OpenRound(const v1::OpenRoundRequest& request,
                                             Answered<v1::OpenRoundReply> done) const {
  const absl::StatusOr<Shard*> shard = ForData(request.header());
  if (!shard.ok()) {
    done(shard.status());
    return std::nullopt;
  }
  return (*shard)->coordinator().Open(
      request, [done = std::move(done)](const absl::StatusOr<OpenAnswer>& answer) mutable {
        if (answer.ok()) {
          done(ToReply(*answer));
        } else {
          done(answer.status());
        }
      });
}

std::optional<WaiterId> ShardDoor::WatchCounts(const v1::WatchCountsRequest& request,
                                               absl::Duration patience,
                                               Answered<v1::WatchCountsReply> done) const {
  const absl::StatusOr<Shard*> shard = ForData(request.header());
  if (!shard.ok()) {
    done(shard.status());
    return std::nullopt;
  }
  return (*shard)->coordinator().Watch(request, EndOfWait(**shard, patience),
                                       [done = std::move(done)](const NewsAnswer& answer) mutable {
                                         if (!answer.status.ok()) return done(answer.status);
                                         v1::WatchCountsReply reply;
                                         ToProto(answer.news, reply);
                                         if (answer.closed) {
                                           ToProto(*answer.closed, *reply.mutable_closed());
                                         }
                                         done(std::move(reply));
                                       });
}

void ShardDoor::ReportLane(const v1::ReportLaneRequest& request,
                           Answered<v1::ReportLaneReply> done) const {
  const absl::StatusOr<Shard*> shard = ForData(request.header());
  if (!shard.ok()) return done(shard.status());
  ReplicaWait replicated;
  absl::StatusOr<v1::ReportLaneReply> reply = (*shard)->coordinator().Report(request, replicated);
  if (!reply.ok()) return done(reply.status());
  AnswerOnce(std::move(replicated), *std::move(reply), std::move(done));
}

// ---- what other shards send ----

absl::StatusOr<v1::TakePartitionReply> ShardDoor::Take(
    const v1::TakePartitionRequest& request) const {
  CAPSTAN_RETURN_IF_ERROR(ForData(request.header()).status());
  return served_->staged.Take(request);
}

absl::StatusOr<v1::ReplicateReply> ShardDoor::Replicate(const ReplicateMessage& message) const {
  CAPSTAN_RETURN_IF_ERROR(ForData(message.head().header()).status());
  return served_->replicator.Take(message);
}

}  // namespace capstan::ps
