// The RPCs of chief.proto over gRPC: each passes its request to the ChiefDoor and sends its answer.
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_

#include "capstan/security/tls.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "chief/shell/chief_door.h"
#include "chief/shell/model_intake.h"

namespace capstan::chief {

// Thread-safe.
class ChiefService final : public v1::Chief::CallbackService {
 public:
  // All arguments must outlive this object. `tls` is the identity of the server; null: plaintext.
  ChiefService(ChiefDoor& door, ModelIntake& models, const Tls* tls)
      : door_(door), models_(models), tls_(tls) {}

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
  ChiefCaller CallerBy(const grpc::CallbackServerContext& context) const;

  ChiefDoor& door_;
  ModelIntake& models_;
  const Tls* const tls_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_SERVICE_H_
