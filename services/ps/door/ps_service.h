// The RPCs of a shard, as gRPC brings them: who may call, how many calls wait, and what they cost.
// What the calls do is in shard_door.
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
// are the RPCs that the chief may call, as the proto says. Served by gRPC's own threads.
// *Thread-safe*.
class PsService final
    : public v1::Ps::WithRawCallbackMethod_Pull<v1::Ps::WithRawCallbackMethod_Push<
          v1::Ps::WithRawCallbackMethod_Replicate<v1::Ps::CallbackService>>> {
 public:
  // While more calls than this have come and wait for a thread, a pull or push is answered
  // RESOURCE_EXHAUSTED at once, as it would only make others wait longer, and fill the memory. A
  // sender that asks for little beside others is served all the same.
  static constexpr int64_t kMaxWaiting = 128;

  // Both must outlive the service. `tls` is the identity of the server; null: plaintext.
  PsService(ShardMetrics& metrics, const Tls* tls);

  // From now on calls are handed to `served`. Before, every call is answered UNAVAILABLE.
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
  // Has the order carried out whose RPC takes such requests.
  Reactor* Order(const google::protobuf::Descriptor& type, Context& context,
                 const grpc::ByteBuffer& request, grpc::ByteBuffer& reply) const;
  // A pull or push begins. Returns how many calls wait for a thread. RESOURCE_EXHAUSTED: too many
  // do.
  absl::StatusOr<int64_t> CheckQueue(Context& context);
  struct AdmittedPull {
    std::unique_ptr<const PullQuery> query;
    std::unique_ptr<EvaluationShare::Turn> evaluation;  // Null: it is no evaluation.
  };
  // Reads a pull and checks all of it. RESOURCE_EXHAUSTED: too many calls wait, or the pull is an
  // evaluation, and training waits.
  absl::StatusOr<AdmittedPull> Admit(Context& context, const grpc::ByteBuffer& request);
  // Has what a shard sends taken in, if the caller may act for that shard.
  absl::StatusOr<v1::TakePartitionReply> Take(const Context& context,
                                              const v1::TakePartitionRequest& request) const;
  absl::StatusOr<v1::ReplicateReply> Take(const Context& context,
                                          const grpc::ByteBuffer& replicate) const;
  // Takes a piece of such a request, and with its last one the whole.
  absl::StatusOr<v1::ReplicateReply> TakePiece(const Context& context,
                                               const v1::PushPieceRequest& piece) const;
  const ServedShard* served() const { return served_.load(std::memory_order_acquire); }
  ShardDoor door() const { return ShardDoor(served()); }
  // Counts the bytes of `reply` until the client has taken it. RESOURCE_EXHAUSTED: clients have too
  // many bytes still to take.
  absl::StatusOr<grpc::ByteBuffer> Hold(grpc::ByteBuffer reply, WaitingReactor& reactor) const;
  // What has to happen before and after the push is answered.
  struct Handled {
    ReleasedPulls released;
    ReplicaWait replicated;
    std::function<void()> trace = {};  // Traces the answer; empty: no trace is written.
  };
  absl::StatusOr<Handled> HandlePush(const Context& context, const grpc::ByteBuffer& request,
                                     v1::PushReply& reply);
  // Answers a push when backups have carried it out, and counts it.
  static Reactor* AnswerPush(Context& context, absl::StatusOr<Handled> handled,
                             const CountedPush& counted, size_t reply_bytes);
  FairShare senders_;  // Judges the senders of calls that come while too many wait.
  EvaluationShare evaluation_;
  ShardMetrics& metrics_;
  const Tls* const tls_;
  SessionShares sessions_{StreamLedger::kMaxSessions, PartitionMachine::kSessionTtl};
  std::atomic<const ServedShard*> served_{nullptr};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_PS_SERVICE_H_
