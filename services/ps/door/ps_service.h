// The RPCs of a shard over gRPC: which callers are allowed, how many calls may wait, and metrics.
// ShardDoor does what the calls ask for.
#ifndef CAPSTAN_PS_DOOR_PS_SERVICE_H_
#define CAPSTAN_PS_DOOR_PS_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/rpc/fair_share.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "google/protobuf/descriptor.h"
#include "ps/door/counted_push.h"
#include "ps/door/evaluation_share.h"
#include "ps/door/session_shares.h"
#include "ps/door/shard_door.h"
#include "ps/door/waiting_reactor.h"
#include "ps/machines/partition_machine.h"
#include "ps/partition/shard_metrics.h"

namespace capstan {
class Tls;
}

namespace capstan::ps {

// Pull, Push, Replicate and the orders of the chief take raw bytes; the others are ordinary. Orders
// are the RPCs that the chief may call, according to the proto. Served by gRPC's own threads.
// *Thread-safe*.
class PsService final
    : public v1::Ps::WithRawCallbackMethod_Pull<v1::Ps::WithRawCallbackMethod_Push<
          v1::Ps::WithRawCallbackMethod_Replicate<v1::Ps::CallbackService>>> {
 public:
  // While more calls than this wait for a thread, a pull or push is answered RESOURCE_EXHAUSTED at
  // once, as it would only lengthen the queue and fill the memory. A sender with few calls in
  // comparison with others is served nevertheless.
  static constexpr int64_t kMaxWaiting = 128;

  // Both must outlive the service. `tls` is the identity of the server; null: plaintext.
  PsService(ShardMetrics& metrics, const Tls* tls);

  // From now on passes calls to `served`. Before, every call is answered UNAVAILABLE.
  void Serve(const ServedShard* served) { served_.store(served, std::memory_order_release); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* Pull(Context* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* reply) override;
  Reactor* Push(Context* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* reply) override;
  Reactor* PushPiece(Context* context, const v1::PushPieceRequest* request,
                     v1::PushReply* reply) override;
  Reactor* OpenRound(Context* context, const v1::OpenRoundRequest* request,
                     v1::OpenRoundReply* reply) override;
  Reactor* ReportLane(Context* context, const v1::ReportLaneRequest* request,
                      v1::ReportLaneReply* reply) override;
  Reactor* WatchCounts(Context* context, const v1::WatchCountsRequest* request,
                       v1::WatchCountsReply* reply) override;
  Reactor* TakePartition(Context* context, const v1::TakePartitionRequest* request,
                         v1::TakePartitionReply* reply) override;
  Reactor* Replicate(Context* context, const grpc::ByteBuffer* request,
                     grpc::ByteBuffer* reply) override;
  Reactor* ReplicatePiece(Context* context, const v1::PushPieceRequest* request,
                          v1::ReplicateReply* reply) override;

 private:
  // Carries out the order whose RPC has this `type` of request.
  Reactor* Order(const google::protobuf::Descriptor& type, Context& context,
                 const grpc::ByteBuffer& request, grpc::ByteBuffer& reply) const;
  // Must be called when a pull or push begins. Returns how many calls wait for a thread.
  // RESOURCE_EXHAUSTED: too many do.
  absl::StatusOr<int64_t> CheckQueue(Context& context);
  struct AdmittedPull {
    std::unique_ptr<const PullQuery> query;
    std::unique_ptr<EvaluationShare::Turn> evaluation;  // Null if it is not an evaluation.
  };
  // Reads a pull and checks all of it. RESOURCE_EXHAUSTED: too many calls wait, or the pull is an
  // evaluation while training calls wait.
  absl::StatusOr<AdmittedPull> Admit(Context& context, const grpc::ByteBuffer& request);
  // Take in what another shard sends, if the caller may act for that shard.
  absl::StatusOr<v1::TakePartitionReply> Take(const Context& context,
                                              const v1::TakePartitionRequest& request) const;
  absl::StatusOr<v1::ReplicateReply> Take(const Context& context,
                                          const grpc::ByteBuffer& replicate) const;
  // Takes in a piece of such a request; with its last piece, the whole request.
  absl::StatusOr<v1::ReplicateReply> TakePiece(const Context& context,
                                               const v1::PushPieceRequest& piece) const;
  const ServedShard* served() const { return served_.load(std::memory_order_acquire); }
  ShardDoor door() const { return ShardDoor(served()); }
  // Counts the bytes of `reply` until the client has received it. RESOURCE_EXHAUSTED: clients still
  // have to receive too many bytes.
  absl::StatusOr<grpc::ByteBuffer> Hold(grpc::ByteBuffer reply, WaitingReactor& reactor) const;
  // What has to happen before (`replicated`) and after the push is answered.
  struct Handled {
    ReleasedPulls released;
    ReplicaWait replicated;
    std::function<void()> trace = {};  // Traces the answer; empty if no trace is written.
  };
  absl::StatusOr<Handled> HandlePush(const Context& context, const grpc::ByteBuffer& request,
                                     v1::PushReply& reply);
  // Answers a push when backups have carried it out, and counts it.
  static Reactor* AnswerPush(Context& context, absl::StatusOr<Handled> handled,
                             const CountedPush& counted, size_t reply_bytes);
  FairShare senders_;  // Decides which senders are served while too many calls wait.
  EvaluationShare evaluation_;
  ShardMetrics& metrics_;
  const Tls* const tls_;
  SessionShares sessions_{StreamLedger::kMaxSessions, PartitionMachine::kSessionTtl};
  std::atomic<const ServedShard*> served_{nullptr};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_PS_SERVICE_H_
