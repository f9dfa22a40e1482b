// The RPCs of a shard: each translates, checks the header, and hands over to Shard.
#ifndef CAPSTAN_PS_PS_SERVICE_H_
#define CAPSTAN_PS_PS_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "ps/reply_budget.h"
#include "ps/shard.h"
#include "ps/shard_metrics.h"
#include "ps/waiting_reactor.h"

namespace capstan::ps {

// Pull and Push take raw bytes; the others are ordinary. Served by gRPC's own threads;
// SavePartitions, which is slow, by a thread of its own. *Thread-safe*.
class PsService final : public v1::Ps::WithRawCallbackMethod_Pull<
                            v1::Ps::WithRawCallbackMethod_Push<v1::Ps::CallbackService>> {
 public:
  // Writes the shard's share of a checkpoint to a folder; may take long.
  using Save =
      std::function<absl::StatusOr<v1::SavePartitionsReply>(Shard& shard, const std::string& uri)>;

  // Replies that clients have not taken yet; above this a pull is answered RESOURCE_EXHAUSTED. A
  // hundred workers that read have a few chunks of about 1 MiB each under way.
  static constexpr size_t kMaxHeldReplyBytes = 512 << 20;

  // `metrics` must outlive the service.
  PsService(ShardMetrics& metrics, Save save) : metrics_(metrics), save_(std::move(save)) {}
  // REQUIRES: its server has been shut down.
  ~PsService() override;

  // Before it, everything is answered UNAVAILABLE. `shard` must outlive the calls under way.
  void SetShard(Shard* shard) { shard_.store(shard, std::memory_order_release); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* Pull(Context* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* reply) override;
  Reactor* Push(Context* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* reply) override;
  Reactor* OpenRound(Context* context, const v1::OpenRoundRequest* request,
                     v1::OpenRoundReply* reply) override;
  Reactor* ReportLane(Context* context, const v1::ReportLaneRequest* request,
                      v1::ReportLaneReply* reply) override;
  Reactor* HoldRounds(Context* context, const v1::HoldRoundsRequest* request,
                      v1::HoldRoundsReply* reply) override;
  Reactor* CommitRound(Context* context, const v1::CommitRoundRequest* request,
                       v1::CommitRoundReply* reply) override;
  Reactor* CloseStreams(Context* context, const v1::CloseStreamsRequest* request,
                        v1::CloseStreamsReply* reply) override;
  Reactor* Flush(Context* context, const v1::FlushRequest* request, v1::FlushReply* reply) override;
  // RESOURCE_EXHAUSTED while another one runs.
  Reactor* SavePartitions(Context* context, const v1::SavePartitionsRequest* request,
                          v1::SavePartitionsReply* reply) override;

 private:
  // The shard, if it is there and the header is right.
  absl::StatusOr<Shard*> ShardFor(const v1::RequestHeader& header) const;
  // Counts the reply until it is taken. RESOURCE_EXHAUSTED: too many are not.
  absl::StatusOr<grpc::ByteBuffer> Hold(grpc::ByteBuffer reply, WaitingReactor& reactor);
  absl::Status HandlePush(const grpc::ByteBuffer& request, grpc::ByteBuffer& reply);

  ShardMetrics& metrics_;
  const Save save_;
  ReplyBudget replies_{kMaxHeldReplyBytes};
  std::atomic<Shard*> shard_{nullptr};

  absl::Mutex save_mu_;
  bool saving_ ABSL_GUARDED_BY(save_mu_) = false;
  std::thread saver_ ABSL_GUARDED_BY(save_mu_);  // The present save, or the last one.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PS_SERVICE_H_
