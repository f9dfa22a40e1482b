#include "chief/shell/chief_service.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"

namespace capstan::chief {
namespace {

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

template <typename Reply>
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, absl::StatusOr<Reply> result,
                                 Reply* reply) {
  if (result.ok()) *reply = *std::move(result);
  return Finish(context, result.status());
}

}  // namespace

ChiefCaller ChiefService::CallerBy(const grpc::CallbackServerContext& context) const {
  ChiefCaller caller{.host = PeerHost(context), .text = CallerOf(context)};
  if (tls_ != nullptr) caller.names = CertifiedNames(context);
  return caller;
}

grpc::ServerUnaryReactor* ChiefService::RegisterShard(grpc::CallbackServerContext* context,
                                                      const v1::RegisterShardRequest* request,
                                                      v1::RegisterShardReply* reply) {
  return Finish(context, door_.RegisterShard(CallerBy(*context), *request), reply);
}

grpc::ServerUnaryReactor* ChiefService::RegisterWorker(grpc::CallbackServerContext* context,
                                                       const v1::RegisterWorkerRequest* request,
                                                       v1::RegisterWorkerReply* reply) {
  return Finish(context, door_.RegisterWorker(CallerBy(*context), *request), reply);
}

grpc::ServerWriteReactor<v1::View>* ChiefService::WatchView(grpc::CallbackServerContext* context,
                                                            const v1::WatchViewRequest* request) {
  return door_.WatchView(CallerBy(*context), *request);
}

grpc::ServerUnaryReactor* ChiefService::ShardHeartbeat(grpc::CallbackServerContext* context,
                                                       const v1::ShardHeartbeatRequest* request,
                                                       v1::ShardHeartbeatReply* reply) {
  return Finish(context, door_.ShardHeartbeat(CallerBy(*context), *request), reply);
}

grpc::ServerUnaryReactor* ChiefService::WorkerHeartbeat(grpc::CallbackServerContext* context,
                                                        const v1::WorkerHeartbeatRequest* request,
                                                        v1::WorkerHeartbeatReply* reply) {
  return Finish(context, door_.WorkerHeartbeat(*request), reply);
}

grpc::ServerUnaryReactor* ChiefService::GetStatus(grpc::CallbackServerContext* context,
                                                  const v1::GetStatusRequest*,
                                                  v1::GetStatusReply* reply) {
  return Finish(context, door_.Status(), reply);
}

grpc::ServerUnaryReactor* ChiefService::StopJob(grpc::CallbackServerContext* context,
                                                const v1::StopJobRequest* request,
                                                v1::StopJobReply*) {
  return Finish(context, door_.StopJob(CallerBy(*context), *request));
}

grpc::ServerUnaryReactor* ChiefService::TakeCheckpoint(grpc::CallbackServerContext* context,
                                                       const v1::TakeCheckpointRequest*,
                                                       v1::TakeCheckpointReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  door_.TakeCheckpoint(CallerBy(*context),
                       [reactor, reply](const absl::StatusOr<std::string>& uri) {
                         if (uri.ok()) reply->set_uri(*uri);
                         reactor->Finish(ToGrpcStatus(uri.status()));
                       });
  return reactor;
}

grpc::ServerUnaryReactor* ChiefService::Rebalance(grpc::CallbackServerContext* context,
                                                  const v1::RebalanceRequest* request,
                                                  v1::RebalanceReply* reply) {
  return Finish(context, door_.Rebalance(CallerBy(*context), *request), reply);
}

grpc::ServerReadReactor<v1::DeclareModelRequest>* ChiefService::DeclareModel(
    grpc::CallbackServerContext*, v1::DeclareModelReply* reply) {
  return models_.Take(reply);
}

}  // namespace capstan::chief
