#include "capstan/rpc/server.h"

#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "capstan/rpc/flood_guard.h"
#include "capstan/rpc/grpc_log.h"
#include "capstan/rpc/limits.h"

namespace capstan {

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      const std::vector<grpc::Service*>& services) {
  SilenceGrpc();
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::Open(options.listen));
  grpc::ServerBuilder builder;
  listener->Attach(builder, options.tls == nullptr ? grpc::InsecureServerCredentials()
                                                   : options.tls->OfServer());
  for (grpc::Service* service : services) builder.RegisterService(service);
  const auto set = [&builder](const char* name, int value) {
    builder.AddChannelArgument(name, value);
  };
  SetTransport(set);
  SetKeepalive(set);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams_per_connection);
  const auto set_time = [&set](const char* name, absl::Duration time) {
    set(name, static_cast<int>(absl::ToInt64Milliseconds(time)));
  };
  set_time(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, options.handshake_timeout);
  set_time(GRPC_ARG_MAX_CONNECTION_AGE_MS, options.connection_age);
  set_time(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, options.connection_grace);
  // No compression: a megabyte of gzip may decompress to a gigabyte of zeros, and floats do not
  // compress.
  for (grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.SetResourceQuota(
      grpc::ResourceQuota("capstan").Resize(static_cast<size_t>(options.max_buffer_bytes)));
  auto guard = std::make_unique<FloodGuard>(options.max_streams_per_connection);
  FloodGuard& watching = *guard;  // Lives as long as the server.
  builder.SetContextAllocator(std::move(guard));
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", options.listen));
  }
  watching.Watch(listener->port());
  listener->Start([&watching] { return watching.IsFlooded(); });
  return std::unique_ptr<Server>(new Server(std::move(server), std::move(listener)));
}

Server::Server(std::unique_ptr<grpc::Server> server, std::unique_ptr<Listener> listener)
    : server_(std::move(server)), listener_(std::move(listener)), port_(listener_->port()) {}

Server::~Server() { Shutdown(absl::ZeroDuration()); }

void Server::Shutdown(absl::Duration drain) {
  listener_.reset();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + drain));
  server_->Wait();
}

}  // namespace capstan
