#include "ps/shard/ps_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/rpc/arrived_call.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"
#include "ps/shard/answers.h"
#include "ps/shard/caller_check.h"
#include "ps/shard/traced.h"

namespace capstan::ps {
namespace {

// The shard ends waits a little before the caller's deadline, so that the answer still reaches the
// caller although the shard looks at waits only once a tick.
const absl::Duration kAnswerMargin = 2 * Shard::kTick;
constexpr absl::Duration kLongestWait = absl::Seconds(60);
constexpr absl::Duration kRepliesHint = absl::Milliseconds(50);
constexpr absl::Duration kEvaluationHint = absl::Milliseconds(50);
constexpr absl::Duration kWaitingHint = absl::Milliseconds(200);

// Turns gRPC's deadline, which is a time of day, into one of the shard's clock.
absl::Time WaitDeadline(const grpc::CallbackServerContext& context, const Clock& clock) {
  const absl::Duration left = absl::FromChrono(context.deadline()) - absl::Now();
  return clock.Now() + std::min(left - kAnswerMargin, kLongestWait);
}

// Lets a call that is cancelled be forgotten by the coordinator, if the call waits there.
grpc::ServerUnaryReactor* Parked(WaitingReactor& reactor, CoordinatorShell& coordinator,
                                 std::optional<WaiterId> waiter) {
  if (waiter) {
    reactor.SetForget([&coordinator, id = *waiter] { return coordinator.Forget(id); });
  }
  return &reactor;
}

void FillOpened(const OpenAnswer& opened, v1::OpenRoundReply& reply) {
  reply.set_answer(opened.answer);
  reply.set_round(opened.round);
  ToProto(opened.closed, *reply.mutable_closed());
  reply.set_cursor(opened.cursor);
}

}  // namespace

absl::StatusOr<const ServedShard*> PsService::Served() const {
  const ServedShard* const served = served_.load(std::memory_order_acquire);
  if (served == nullptr) return absl::UnavailableError("the shard waits for the chief");
  return served;
}

absl::StatusOr<Shard*> PsService::ShardFor(const v1::RequestHeader& header) const {
  CAPSTAN_ASSIGN_OR_RETURN(const ServedShard* const served, Served());
  CAPSTAN_RETURN_IF_ERROR(served->shard.CheckHeader(header));
  return &served->shard;
}

absl::StatusOr<Shard*> PsService::ShardForOrder(const v1::RequestHeader& header) const {
  CAPSTAN_ASSIGN_OR_RETURN(const ServedShard* const served, Served());
  CAPSTAN_RETURN_IF_ERROR(served->shard.CheckOrder(header));
  CAPSTAN_RETURN_IF_ERROR(served->shard.CheckHeader(header));
  CAPSTAN_RETURN_IF_ERROR(served->shard.CheckFollowed(header));
  return &served->shard;
}

absl::StatusOr<int64_t> PsService::CheckQueue(Context& context) {
  const int64_t waiting = BeginCall(context);
  metrics_.SetQueued(waiting);
  if (waiting <= kMaxWaiting || !senders_.Takes(context.peer())) return waiting;
  return WithRetryAfter(
      absl::ResourceExhaustedError(absl::StrCat(waiting, " calls wait on this shard")),
      kWaitingHint);
}

absl::StatusOr<PsService::AdmittedPull> PsService::Admit(Context& context,
                                                         const grpc::ByteBuffer& request) {
  AdmittedPull pull;
  CAPSTAN_ASSIGN_OR_RETURN(const int64_t waiting, CheckQueue(context));
  CAPSTAN_ASSIGN_OR_RETURN(const ServedShard* const served, Served());
  pull.shard = &served->shard;
  CAPSTAN_ASSIGN_OR_RETURN(pull.query, PullQuery::Read(request, pull.shard->catalog()));
  CAPSTAN_RETURN_IF_ERROR(CheckPuller(MayTrain(context), pull.query->head()));
  CAPSTAN_RETURN_IF_ERROR(pull.shard->CheckHeader(pull.query->head().header()));
  if (!pull.query->head().evaluation()) return pull;
  pull.evaluation = evaluation_.Begin(waiting);
  if (pull.evaluation != nullptr) return pull;
  return WithRetryAfter(
      absl::ResourceExhaustedError(
          absl::StrCat(waiting, " calls wait, and evaluation has half of the shard's threads")),
      kEvaluationHint);
}

PsService::Reactor* PsService::Pull(Context* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) {
  const std::shared_ptr<WaitingReactor> reactor = WaitingReactor::Make();
  metrics_.AddInFlight(1);
  auto finish = [this, context, reactor, reply, begin = SteadyClock().Now(),
                 size = request->Length()](absl::StatusOr<grpc::ByteBuffer> result,
                                           absl::Duration waited = {}) {
    if (result.ok()) result = Hold(*std::move(result), *reactor);
    if (result.ok()) reply->Swap(&*result);
    metrics_.CountRequest({Method::kPull, result.status().code(),
                           SteadyClock().Now() - begin - waited, size,
                           result.ok() ? reply->Length() : 0});
    metrics_.AddInFlight(-1);
    reactor->Finish(AtTheDoor(*context, result.status()));
  };
  absl::StatusOr<AdmittedPull> pull = Admit(*context, *request);
  if (!pull.ok()) {
    finish(pull.status());
    return reactor.get();
  }
  Shard* const shard = pull->shard;
  const std::optional<WaiterId> waiter =
      shard->Pull(std::move(pull->query), WaitDeadline(*context, shard->clock()), finish);
  if (waiter) reactor->SetForget([shard, id = *waiter] { return shard->clocks().Forget(id); });
  return reactor.get();
}

absl::StatusOr<grpc::ByteBuffer> PsService::Hold(grpc::ByteBuffer reply,
                                                 WaitingReactor& reactor) const {
  MemoryBudget& memory = served_.load(std::memory_order_acquire)->shard.memory();
  absl::StatusOr<Reservation> room = memory.Reserve(MemoryUse::kReplies, reply.Length());
  if (!room.ok()) return WithRetryAfter(room.status(), kRepliesHint);
  reactor.Keep(*std::move(room));
  return reply;
}

PsService::Reactor* PsService::Push(Context* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) {
  const CountedPush counted(metrics_, request->Length());
  const absl::Status queued = CheckQueue(*context).status();
  v1::PushReply answer;
  absl::StatusOr<Handled> handled = queued.ok() ? HandlePush(*context, *request, answer) : queued;
  if (handled.ok()) Write(answer, *reply);
  return AnswerPush(*context, std::move(handled), counted, reply->Length());
}

PsService::Reactor* PsService::PushPiece(Context* context, const v1::PushPieceRequest* request,
                                         v1::PushReply* reply) {
  const absl::Status queued = CheckQueue(*context).status();
  if (!queued.ok()) return Answer(*context, queued);
  const absl::StatusOr<Shard*> shard = ShardFor(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  const absl::Status allowed = CheckPusher(MayTrain(*context), *request);
  if (!allowed.ok()) return Answer(*context, allowed);
  const PushPieces::Sender sender{context->peer(), PeerHost(*context)};
  const absl::StatusOr<std::optional<grpc::ByteBuffer>> push =
      (*shard)->pieces().Take(sender, *request, (*shard)->clock().Now());
  if (!push.ok() || !push->has_value()) return Answer(*context, push.status());
  const CountedPush counted(metrics_, (*push)->Length());
  absl::StatusOr<Handled> handled = HandlePush(*context, **push, *reply);
  return AnswerPush(*context, std::move(handled), counted, reply->ByteSizeLong());
}

absl::StatusOr<PsService::Handled> PsService::HandlePush(const Context& context,
                                                         const grpc::ByteBuffer& request,
                                                         v1::PushReply& reply) {
  CAPSTAN_ASSIGN_OR_RETURN(const ServedShard* const served, Served());
  Shard& shard = served->shard;
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const PushMessage> push, shard.ReadPush(request));
  CAPSTAN_RETURN_IF_ERROR(CheckPusher(MayTrain(context), push->head()));
  CAPSTAN_RETURN_IF_ERROR(shard.CheckHeader(push->head().header()));
  CAPSTAN_RETURN_IF_ERROR(CheckSession(context, push->head(), sessions_));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("push.received"));
  CAPSTAN_ASSIGN_OR_RETURN(Shard::Pushed pushed, shard.Push(push));
  reply = std::move(pushed.reply);
  Handled handled{std::move(pushed.released), std::move(pushed.replicated)};
  if (trace::On()) handled.trace = [push, answer = reply] { TraceAnswered(*push, answer); };
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("push.applied"));
  return handled;
}

PsService::Reactor* PsService::AnswerPush(Context& context, absl::StatusOr<Handled> handled,
                                          const CountedPush& counted, size_t reply_bytes) {
  if (!handled.ok() || (handled->released.empty() && handled->replicated.empty())) {
    if (handled.ok() && handled->trace) handled->trace();
    counted.End(handled.status(), reply_bytes);
    return Answer(context, handled.status());
  }
  // Deletes itself when the call has ended.
  auto* const reactor = new PushReactor(std::move(handled->released));
  std::move(handled->replicated)
      .Then([reactor, &context, counted, reply_bytes,
             trace = std::move(handled->trace)](const absl::Status& status) {
        if (status.ok() && trace) trace();
        counted.End(status, reply_bytes);
        reactor->Finish(AtTheDoor(context, status));
      });
  return reactor;
}

PsService::Reactor* PsService::OpenRound(Context* context, const v1::OpenRoundRequest* request,
                                         v1::OpenRoundReply* reply) {
  (void)BeginCall(*context);  // It may be parked.
  const absl::StatusOr<Shard*> shard = ShardFor(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  const std::shared_ptr<WaitingReactor> reactor = WaitingReactor::Make();
  const std::optional<WaiterId> waiter = (*shard)->coordinator().Open(
      *request, [context, reactor, reply](const absl::StatusOr<OpenAnswer>& answer) {
        if (answer.ok()) FillOpened(*answer, *reply);
        reactor->Finish(AtTheDoor(*context, answer.status()));
      });
  return Parked(*reactor, (*shard)->coordinator(), waiter);
}

PsService::Reactor* PsService::ReportLane(Context* context, const v1::ReportLaneRequest* request,
                                          v1::ReportLaneReply* reply) {
  const absl::StatusOr<Shard*> shard = ShardFor(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  ReplicaWait replicated;
  absl::StatusOr<v1::ReportLaneReply> result = (*shard)->coordinator().Report(*request, replicated);
  if (!result.ok()) return Answer(*context, result.status());
  *reply = *std::move(result);
  return AnswerOnce(*context, std::move(replicated));
}

PsService::Reactor* PsService::HoldRounds(Context* context, const v1::HoldRoundsRequest* request,
                                          v1::HoldRoundsReply* reply) {
  (void)BeginCall(*context);  // It may be parked.
  const absl::StatusOr<Shard*> shard = ShardForOrder(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  const std::shared_ptr<WaitingReactor> reactor = WaitingReactor::Make();
  const std::optional<WaiterId> waiter =
      (*shard)->coordinator().Hold(*request, WaitDeadline(*context, (*shard)->clock()),
                                   [context, reactor, reply](const HoldAnswer& answer) {
                                     ToProto(answer.last, *reply->mutable_last());
                                     reply->set_ended(answer.ended);
                                     for (const CoordinatorState::Lane& lane : answer.lanes) {
                                       v1::LaneCursor& cursor = *reply->add_lanes();
                                       cursor.set_cursor(lane.cursor);
                                       cursor.set_ended(lane.ended);
                                     }
                                     reactor->Finish(AtTheDoor(*context, answer.status));
                                   });
  return Parked(*reactor, (*shard)->coordinator(), waiter);
}

PsService::Reactor* PsService::WatchCounts(Context* context, const v1::WatchCountsRequest* request,
                                           v1::WatchCountsReply* reply) {
  (void)BeginCall(*context);  // It may be parked.
  const absl::StatusOr<Shard*> shard = ShardFor(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  const std::shared_ptr<WaitingReactor> reactor = WaitingReactor::Make();
  const std::optional<WaiterId> waiter =
      (*shard)->coordinator().Watch(*request, WaitDeadline(*context, (*shard)->clock()),
                                    [context, reactor, reply](const NewsAnswer& answer) {
                                      ToProto(answer.news, *reply);
                                      reactor->Finish(AtTheDoor(*context, answer.status));
                                    });
  return Parked(*reactor, (*shard)->coordinator(), waiter);
}

PsService::Reactor* PsService::CommitRound(Context* context, const v1::CommitRoundRequest* request,
                                           v1::CommitRoundReply*) {
  const absl::StatusOr<Shard*> shard = ShardForOrder(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  ReplicaWait replicated;
  const absl::Status committed = (*shard)->CommitRound(*request, replicated);
  if (!committed.ok()) return Answer(*context, committed);
  return AnswerOnce(*context, std::move(replicated));
}

PsService::Reactor* PsService::CloseStreams(Context* context,
                                            const v1::CloseStreamsRequest* request,
                                            v1::CloseStreamsReply*) {
  const absl::StatusOr<Shard*> shard = ShardForOrder(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  ReplicaWait replicated;
  const absl::Status closed = (*shard)->CloseStreams(*request, replicated);
  if (!closed.ok()) return Answer(*context, closed);
  return AnswerOnce(*context, std::move(replicated));
}

PsService::Reactor* PsService::Flush(Context* context, const v1::FlushRequest* request,
                                     v1::FlushReply* reply) {
  const absl::StatusOr<Shard*> shard = ShardForOrder(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  ReplicaWait replicated;
  reply->set_gradients((*shard)->Flush(replicated));
  return AnswerOnce(*context, std::move(replicated));
}

absl::StatusOr<v1::SavePartitionsReply> PsService::HandleSave(
    const v1::SavePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardForOrder(request.header()).status());
  return served_.load(std::memory_order_acquire)->saver.Order(request);
}

PsService::Reactor* PsService::SavePartitions(Context* context,
                                              const v1::SavePartitionsRequest* request,
                                              v1::SavePartitionsReply* reply) {
  return AnswerWith(*context, HandleSave(*request), *reply);
}

absl::StatusOr<v1::LoadPartitionsReply> PsService::HandleLoad(
    const v1::LoadPartitionsRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(const ServedShard* const served, Served());
  CAPSTAN_RETURN_IF_ERROR(served->shard.CheckOrder(request.header()));
  return served->loader.Order(request);
}

PsService::Reactor* PsService::LoadPartitions(Context* context,
                                              const v1::LoadPartitionsRequest* request,
                                              v1::LoadPartitionsReply* reply) {
  return AnswerWith(*context, HandleLoad(*request), *reply);
}

absl::StatusOr<v1::MovePartitionsReply> PsService::HandleMove(
    const v1::MovePartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardForOrder(request.header()).status());
  return served_.load(std::memory_order_acquire)->mover.Order(request);
}

PsService::Reactor* PsService::MovePartitions(Context* context,
                                              const v1::MovePartitionsRequest* request,
                                              v1::MovePartitionsReply* reply) {
  return AnswerWith(*context, HandleMove(*request), *reply);
}

absl::StatusOr<v1::TakePartitionReply> PsService::HandleTake(
    const v1::TakePartitionRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(ShardFor(request.header()).status());
  return served_.load(std::memory_order_acquire)->staged.Take(request);
}

PsService::Reactor* PsService::TakePartition(Context* context,
                                             const v1::TakePartitionRequest* request,
                                             v1::TakePartitionReply* reply) {
  return AnswerWith(*context, HandleTake(*request), *reply);
}

absl::StatusOr<v1::ReplicateReply> PsService::HandleReplicate(const grpc::ByteBuffer& request) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<const ReplicateMessage> message,
                           ReplicateMessage::Read(request));
  CAPSTAN_RETURN_IF_ERROR(ShardFor(message->head().header()).status());
  return served_.load(std::memory_order_acquire)->replicator.Take(*message);
}

PsService::Reactor* PsService::Replicate(Context* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) {
  const absl::StatusOr<v1::ReplicateReply> taken = HandleReplicate(*request);
  if (taken.ok()) Write(*taken, *reply);
  return Answer(*context, taken.status());
}

}  // namespace capstan::ps
