#include "ps/door/ps_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/message/any_message.h"
#include "capstan/message/rpc_method.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/rpc/arrived_call.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"
#include "capstan/security/role.h"
#include "ps/door/answers.h"
#include "ps/door/caller_check.h"
#include "ps/partition/traced.h"

namespace capstan::ps {
namespace {

constexpr absl::Duration kLongestWait = absl::Seconds(60);
constexpr absl::Duration kRepliesHint = absl::Milliseconds(50);
constexpr absl::Duration kEvaluationHint = absl::Milliseconds(50);
constexpr absl::Duration kWaitingHint = absl::Milliseconds(200);

// Returns how long the caller waits for its answer. gRPC's deadline is a time of day.
absl::Duration PatienceOf(const grpc::CallbackServerContext& context) {
  return std::min(absl::FromChrono(context.deadline()) - absl::Now(), kLongestWait);
}

// Serializes the answer of a call into gRPC's reply.
template <typename Reply>
void Put(Reply answer, Reply& reply) {
  reply = std::move(answer);
}
void Put(const AnyMessage& answer, grpc::ByteBuffer& reply) { Write(*answer, reply); }

// Returns the function that answers a call: it writes the reply to `*reply`, and finishes
// `reactor`.
template <typename Reactor, typename Reply>
auto AnswerInto(Reply* reply, Reactor reactor, grpc::CallbackServerContext& context) {
  return [reply, reactor = std::move(reactor), &context](auto answer) {
    if (answer.ok()) Put(*std::move(answer), *reply);
    reactor->Finish(AtTheDoor(context, answer.status()));
  };
}

// Begins a call that may wait at the coordinator of `served`, and makes it be forgotten if the call
// is cancelled. begin(door, done) begins it, and returns its id if it waits.
template <typename Reply, typename Begin>
grpc::ServerUnaryReactor* Park(grpc::CallbackServerContext& context, Reply* reply,
                               const ServedShard* served, Begin begin) {
  (void)BeginCall(context);
  const std::shared_ptr<WaitingReactor> reactor = WaitingReactor::Make();
  const std::optional<WaiterId> waiter =
      begin(ShardDoor(served), AnswerInto(reply, reactor, context));
  if (waiter) {
    reactor->SetForget([&coordinator = served->shard.coordinator(), id = *waiter] {
      return coordinator.Forget(id);
    });
  }
  return reactor.get();
}

}  // namespace

// Does what generated code would do, method by method, for a method that takes raw bytes.
PsService::PsService(ShardMetrics& metrics, const Tls* tls) : metrics_(metrics), tls_(tls) {
  using Raw = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
  const google::protobuf::ServiceDescriptor& service =
      *MethodOf(*v1::PullRequest::descriptor()).service();
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor* const rpc = service.method(i);
    if (!MayCall(Role::kChief, PathOf(*rpc))) continue;
    MarkMethodRawCallback(
        i, new Raw([this, type = rpc->input_type()](
                       Context* context, const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
          return Order(*type, *context, *request, *reply);
        }));
  }
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
  CAPSTAN_ASSIGN_OR_RETURN(pull.query, door().ReadPull(request));
  CAPSTAN_RETURN_IF_ERROR(CheckPuller(MayTrain(context, tls_), pull.query->head()));
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
  Shard& shard = served()->shard;
  const std::optional<WaiterId> waiter =
      door().Pull(std::move(pull->query), PatienceOf(*context), finish);
  if (waiter) reactor->SetForget([&shard, id = *waiter] { return shard.clocks().Forget(id); });
  return reactor.get();
}

absl::StatusOr<grpc::ByteBuffer> PsService::Hold(grpc::ByteBuffer reply,
                                                 WaitingReactor& reactor) const {
  MemoryBudget& memory = served()->shard.memory();
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
  const absl::StatusOr<Shard*> shard = door().ForData(request->header());
  if (!shard.ok()) return Answer(*context, shard.status());
  const absl::Status allowed = CheckPusher(MayTrain(*context, tls_), *request);
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
  CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const PushMessage> push, door().ReadPush(request));
  CAPSTAN_RETURN_IF_ERROR(CheckPusher(MayTrain(context, tls_), push->head()));
  CAPSTAN_RETURN_IF_ERROR(CheckSession(context, push->head(), sessions_));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("push.received"));
  CAPSTAN_ASSIGN_OR_RETURN(Shard::Pushed pushed, door().Push(push));
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
  return Park(*context, reply, served(), [request](const ShardDoor& door, auto done) {
    return door.OpenRound(*request, std::move(done));
  });
}

PsService::Reactor* PsService::WatchCounts(Context* context, const v1::WatchCountsRequest* request,
                                           v1::WatchCountsReply* reply) {
  return Park(*context, reply, served(), [context, request](const ShardDoor& door, auto done) {
    return door.WatchCounts(*request, PatienceOf(*context), std::move(done));
  });
}

PsService::Reactor* PsService::ReportLane(Context* context, const v1::ReportLaneRequest* request,
                                          v1::ReportLaneReply* reply) {
  Reactor* const reactor = context->DefaultReactor();
  door().ReportLane(*request, AnswerInto(reply, reactor, *context));
  return reactor;
}

PsService::Reactor* PsService::Order(const google::protobuf::Descriptor& type, Context& context,
                                     const grpc::ByteBuffer& request,
                                     grpc::ByteBuffer& reply) const {
  std::unique_ptr<google::protobuf::Message> order = NewMessage(type);
  const absl::Status read = Read(request, *order);
  if (!read.ok()) return Answer(context, read);
  return Park(context, &reply, served(),
              [&context, order = AnyMessage(std::move(order))](const ShardDoor& door, auto done) {
                return door.Order(order, PatienceOf(context), std::move(done));
              });
}

PsService::Reactor* PsService::TakePartition(Context* context,
                                             const v1::TakePartitionRequest* request,
                                             v1::TakePartitionReply* reply) {
  return AnswerWith(*context, Take(*context, *request), *reply);
}

// Without a shard, or a view that names the sender, the ShardDoor or the shard's parts refuse the
// call.
absl::StatusOr<v1::TakePartitionReply> PsService::Take(
    const Context& context, const v1::TakePartitionRequest& request) const {
  const ServedShard* const at = served();
  const std::optional<uint32_t> sender =
      at == nullptr
          ? std::nullopt
          : at->shard.view().newest()->Sender(static_cast<PartitionIndex>(request.partition()),
                                              ViewEpochFromProto(request.move()));
  if (sender) CAPSTAN_RETURN_IF_ERROR(CheckSender(MayActForShard(context, tls_, *sender), *sender));
  return door().Take(request);
}

absl::StatusOr<v1::ReplicateReply> PsService::Take(const Context& context,
                                                   const grpc::ByteBuffer& replicate) const {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<const ReplicateMessage> message,
                           ReplicateMessage::Read(replicate));
  const ServedShard* const at = served();
  const std::optional<uint32_t> sender =
      at == nullptr ? std::nullopt
                    : at->shard.view().newest()->ShardOf(Incarnation{message->head().source()});
  if (sender) CAPSTAN_RETURN_IF_ERROR(CheckSender(MayActForShard(context, tls_, *sender), *sender));
  return door().Replicate(*message);
}

absl::StatusOr<v1::ReplicateReply> PsService::TakePiece(const Context& context,
                                                        const v1::PushPieceRequest& piece) const {
  CAPSTAN_ASSIGN_OR_RETURN(Shard* const shard, door().ForData(piece.header()));
  const PushPieces::Sender sender{context.peer(), PeerHost(context)};
  CAPSTAN_ASSIGN_OR_RETURN(const std::optional<grpc::ByteBuffer> whole,
                           shard->replica_pieces().Take(sender, piece, shard->clock().Now()));
  if (!whole) return v1::ReplicateReply();
  return Take(context, *whole);
}

PsService::Reactor* PsService::Replicate(Context* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) {
  const absl::StatusOr<v1::ReplicateReply> taken = Take(*context, *request);
  if (taken.ok()) Write(*taken, *reply);
  return Answer(*context, taken.status());
}

PsService::Reactor* PsService::ReplicatePiece(Context* context, const v1::PushPieceRequest* request,
                                              v1::ReplicateReply* reply) {
  return AnswerWith(*context, TakePiece(*context, *request), *reply);
}

}  // namespace capstan::ps
