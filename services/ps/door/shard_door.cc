#include "ps/door/shard_door.h"

#include <utility>

#include "capstan/base/status.h"
#include "capstan/consistency/round_commit.h"
#include "ps/partition/replica_wait.h"
#include "ps/shard/coordinator_shell.h"

namespace capstan::ps {
namespace {

// The shard ends waits a little before the caller's patience does, so that the answer still reaches
// the caller although the shard looks at waits only once a tick. A hundredth more, for gRPC tells a
// server of its caller's patience rounded up: below 10 s to 10 ms, below 100 s to 100 ms, and above
// that to a second (Timeout::FromMillis of its chttp2 transport).
absl::Time EndOfWait(const Shard& shard, absl::Duration patience) {
  return shard.clock().Now() + patience - 2 * Shard::kTick - patience / 100;
}

// Each lane is told the commit, although a worker with many lanes hears it as many times: they wait
// at once, so that none can say, when it asks, what another one will have heard, and for a gradient
// that goes to all shards 12 KB, with a thousand lanes, are little.
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

// Answers with `reply` once backups have carried out what `replicated` names, or with the error of
// a pair that has ended.
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

absl::StatusOr<Shard*> ShardDoor::ForOrder(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckOrder(header));
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckHeader(header));
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckFollowed(header));
  return &served_->shard;
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

std::optional<WaiterId> ShardDoor::HoldRounds(const v1::HoldRoundsRequest& request,
                                              absl::Duration patience,
                                              Answered<v1::HoldRoundsReply> done) const {
  const absl::StatusOr<Shard*> shard = ForOrder(request.header());
  if (!shard.ok()) {
    done(shard.status());
    return std::nullopt;
  }
  return (*shard)->coordinator().Hold(request, EndOfWait(**shard, patience),
                                      [done = std::move(done)](const HoldAnswer& answer) mutable {
                                        if (answer.status.ok()) {
                                          done(ToReply(answer));
                                        } else {
                                          done(answer.status);
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

// ---- changes that are answered once backups have carried them out ----

void ShardDoor::ReportLane(const v1::ReportLaneRequest& request,
                           Answered<v1::ReportLaneReply> done) const {
  const absl::StatusOr<Shard*> shard = ForData(request.header());
  if (!shard.ok()) return done(shard.status());
  ReplicaWait replicated;
  absl::StatusOr<v1::ReportLaneReply> reply = (*shard)->coordinator().Report(request, replicated);
  if (!reply.ok()) return done(reply.status());
  AnswerOnce(std::move(replicated), *std::move(reply), std::move(done));
}

void ShardDoor::CommitRound(const v1::CommitRoundRequest& request,
                            Answered<v1::CommitRoundReply> done) const {
  const absl::StatusOr<Shard*> shard = ForOrder(request.header());
  if (!shard.ok()) return done(shard.status());
  ReplicaWait replicated;
  const absl::Status committed = (*shard)->CommitRound(request, replicated);
  if (!committed.ok()) return done(committed);
  AnswerOnce(std::move(replicated), v1::CommitRoundReply(), std::move(done));
}

void ShardDoor::CloseStreams(const v1::CloseStreamsRequest& request,
                             Answered<v1::CloseStreamsReply> done) const {
  const absl::StatusOr<Shard*> shard = ForOrder(request.header());
  if (!shard.ok()) return done(shard.status());
  ReplicaWait replicated;
  const absl::Status closed = (*shard)->CloseStreams(request, replicated);
  if (!closed.ok()) return done(closed);
  AnswerOnce(std::move(replicated), v1::CloseStreamsReply(), std::move(done));
}

void ShardDoor::Flush(const v1::FlushRequest& request, Answered<v1::FlushReply> done) const {
  const absl::StatusOr<Shard*> shard = ForOrder(request.header());
  if (!shard.ok()) return done(shard.status());
  ReplicaWait replicated;
  v1::FlushReply reply;
  reply.set_gradients((*shard)->Flush(replicated));
  AnswerOnce(std::move(replicated), std::move(reply), std::move(done));
}

// ---- whole partitions ----

absl::StatusOr<v1::SavePartitionsReply> ShardDoor::Save(
    const v1::SavePartitionsRequest& request) const {
  CAPSTAN_RETURN_IF_ERROR(ForOrder(request.header()).status());
  return served_->saver.Order(request);
}

// The shard need not serve the order's timeline: it is to load that.
absl::StatusOr<v1::LoadPartitionsReply> ShardDoor::Load(
    const v1::LoadPartitionsRequest& request) const {
  CAPSTAN_RETURN_IF_ERROR(Served().status());
  CAPSTAN_RETURN_IF_ERROR(served_->shard.view().CheckOrder(request.header()));
  return served_->loader.Order(request);
}

absl::StatusOr<v1::MovePartitionsReply> ShardDoor::Move(
    const v1::MovePartitionsRequest& request) const {
  CAPSTAN_RETURN_IF_ERROR(ForOrder(request.header()).status());
  return served_->mover.Order(request);
}

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
