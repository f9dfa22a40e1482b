#include "chief/chief_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"

namespace capstan::chief {
namespace {

template <typename Reply>
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, absl::StatusOr<Reply> result,
                                 Reply* reply) {
  if (result.ok()) *reply = *std::move(result);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(result.status()));
  return reactor;
}

grpc::ServerUnaryReactor* FinishOk(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* ChiefService::RegisterShard(grpc::CallbackServerContext* context,
                                                      const v1::RegisterShardRequest* request,
                                                      v1::RegisterShardReply* reply) {
  auto result = control_.Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.RegisterShard(*request, now);
  });
  CAPSTAN_FAILPOINT("shard.register_answer");
  return Finish(context, std::move(result), reply);
}

grpc::ServerUnaryReactor* ChiefService::RegisterWorker(grpc::CallbackServerContext* context,
                                                       const v1::RegisterWorkerRequest* request,
                                                       v1::RegisterWorkerReply* reply) {
  auto result = control_.Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.RegisterWorker(*request, now);
  });
  CAPSTAN_FAILPOINT("worker.register_answer");
  return Finish(context, std::move(result), reply);
}

grpc::ServerWriteReactor<v1::View>* ChiefService::WatchView(grpc::CallbackServerContext*,
                                                            const v1::WatchViewRequest*) {
  return views_.Watch();
}

grpc::ServerUnaryReactor* ChiefService::ShardHeartbeat(grpc::CallbackServerContext* context,
                                                       const v1::ShardHeartbeatRequest* request,
                                                       v1::ShardHeartbeatReply* reply) {
  *reply = control_.Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.ShardHeartbeat(*request, now);
  });
  CAPSTAN_FAILPOINT("shard.heartbeat_answer");
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::WorkerHeartbeat(grpc::CallbackServerContext* context,
                                                        const v1::WorkerHeartbeatRequest* request,
                                                        v1::WorkerHeartbeatReply* reply) {
  *reply = control_.Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.WorkerHeartbeat(*request, now);
  });
  CAPSTAN_FAILPOINT("worker.heartbeat_answer");
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::GetStatus(grpc::CallbackServerContext* context,
                                                  const v1::GetStatusRequest*,
                                                  v1::GetStatusReply* reply) {
  *reply = control_.Status();
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::StopJob(grpc::CallbackServerContext* context,
                                                const v1::StopJobRequest* request,
                                                v1::StopJobReply*) {
  log::Info("asked to stop the job", {{"by", CallerOf(*context)}});
  control_.Run([request](ChiefMachine& chief, absl::Time now) {
    chief.StopJob(request->reason(), now);
    return true;
  });
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::TakeCheckpoint(grpc::CallbackServerContext* context,
                                                       const v1::TakeCheckpointRequest*,
                                                       v1::TakeCheckpointReply* reply) {
  log::Info("asked for a checkpoint", {{"by", CallerOf(*context)}});
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.TakeCheckpoint([reactor, reply](const absl::StatusOr<std::string>& uri) {
    if (uri.ok()) reply->set_uri(*uri);
    reactor->Finish(ToGrpcStatus(uri.status()));
  });
  return reactor;
}

}  // namespace capstan::chief
