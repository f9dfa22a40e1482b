// The RPCs of chief.proto: each hands its request to the machine and returns what it answers.
#ifndef CAPSTAN_CHIEF_CHIEF_SERVICE_H_
#define CAPSTAN_CHIEF_CHIEF_SERVICE_H_

#include "capstan/v1/chief.grpc.pb.h"
#include "chief/control_loop.h"
#include "chief/view_feed.h"

namespace capstan::chief {

// Thread-safe.
class ChiefService final : public v1::Chief::CallbackService {
 public:
  // Both must outlive this object.
  ChiefService(ControlLoop& control, ViewFeed& views) : control_(control), views_(views) {}

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

 private:
  ControlLoop& control_;
  ViewFeed& views_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_CHIEF_SERVICE_H_
