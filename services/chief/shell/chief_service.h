// The RPCs of chief.proto: each passes its request to the machine and returns its answer.
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_

#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/rpc/peer_rate.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "chief/shell/control_loop.h"
#include "chief/shell/model_intake.h"
#include "chief/shell/odd_workers.h"
#include "chief/shell/program_failures.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// Serves before the chief has its job, so that a process that finds the job claimed can reach its
// chief. Until Open, GetStatus answers what was last passed to Tell; WatchView and DeclareModel
// work, and RegisterWorker as far as ModelIntake answers it; all other calls end with UNAVAILABLE
// and the reason. Thread-safe.
class ChiefService final : public v1::Chief::CallbackService {
 public:
  // All must outlive this object. `tls` is the identity of the server; null: plaintext.
  ChiefService(ViewFeed& views, ModelIntake& models, const Tls* tls)
      : views_(views), models_(models), tls_(tls) {}

  // Sets what GetStatus answers until Open: why there is no job yet. Before the first Tell it ends
  // with UNAVAILABLE.
  void Tell(const v1::GetStatusReply& status);

  // Returns how calls end that come before Open.
  grpc::Status WhyNotOpen();

  // Passes calls to `control` from now on. To be called once. `control` must outlive every call, so
  // shut the server down first.
  void Open(ControlLoop& control) { control_.store(&control); }

  grpc::ServerUnaryReactor* RegisterShard(grpc::CallbackServerContext* context,
                                          const v1::RegisterShardRequest* request,
                                          v1::RegisterShardReply* reply) override;
  grpc::ServerUnaryReactor* RegisterWorker(grpc::CallbackServerContext* context,
                                           const v1::RegisterWorkerRequest* request,
                                           v1::RegisterWorkerReply* reply) override;
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext* context,
                                                const v1::WatchViewRequest* request) override;
  grpc::ServerUnaryReactor* ShardHeartbeat(grpc::CallbackServerContext* context,
                                           const v1::ShardHeartbeatRequest* request,
                                           v1::ShardHeartbeatReply* reply) override;
  grpc::ServerUnaryReactor* WorkerHeartbeat(grpc::CallbackServerContext* context,
                                            const v1::WorkerHeartbeatRequest* request,
                                            v1::WorkerHeartbeatReply* reply) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::GetStatusReply* reply) override;
  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request,
                                    v1::StopJobReply* reply) override;
  grpc::ServerUnaryReactor* TakeCheckpoint(grpc::CallbackServerContext* context,
                                           const v1::TakeCheckpointRequest* request,
                                           v1::TakeCheckpointReply* reply) override;
  grpc::ServerUnaryReactor* Rebalance(grpc::CallbackServerContext* context,
                                      const v1::RebalanceRequest* request,
                                      v1::RebalanceReply* reply) override;
  grpc::ServerReadReactor<v1::DeclareModelRequest>* DeclareModel(
      grpc::CallbackServerContext* context, v1::DeclareModelReply* reply) override;

 private:
  grpc::ServerUnaryReactor* NotOpen(grpc::CallbackServerContext* context);
  bool MayWatchAsShard(const grpc::CallbackServerContext& context,
                       const v1::WatchViewRequest& request);
  void TakeIn(const v1::RegisterWorkerRequest& worker);
  void TakeFailure(const std::string& worker, const v1::UserCodeError& error);

  // Bounds how often each peer may register workers, as the chief has only so many numbers for
  // their trainers, and how often it may report programs that fail.
  PeerRate registrations_{/*burst=*/1024, /*interval=*/absl::Seconds(1)};
  std::atomic<ControlLoop*> control_ = nullptr;
  ViewFeed& views_;
  ModelIntake& models_;
  const Tls* const tls_;
  ProgramFailures failures_;
  OddWorkers odd_workers_;
  absl::Mutex mu_;
  v1::GetStatusReply told_ ABSL_GUARDED_BY(mu_);  // State UNSPECIFIED: nothing was told.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_
