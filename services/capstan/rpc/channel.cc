#include "capstan/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "capstan/rpc/grpc_log.h"
#include "capstan/rpc/limits.h"

namespace capstan {
namespace {

grpc::ChannelArguments ArgumentsOfAll() {
  grpc::ChannelArguments arguments;
  const auto set = [&arguments](const char* name, int value) { arguments.SetInt(name, value); };
  SetTransport(set);
  SetKeepalive(set);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // A proxy in the environment is for the outside world, not for the pods of one job.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Callers decide about retries, because they know what may be repeated.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return arguments;
}

}  // namespace

Channel NewPlainChannel(const std::string& address) {
  SilenceGrpc();
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), ArgumentsOfAll());
}

Channel NewChannel(const std::string& address, Role peer, const Tls* tls) {
  if (tls == nullptr) return NewPlainChannel(address);
  SilenceGrpc();
  grpc::ChannelArguments arguments = ArgumentsOfAll();
  // How long an attempt to connect may take: with busy CPUs a TLS handshake takes longer than a TCP
  // connect.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3000);
  const auto credentials = tls->OfChannel(peer, arguments);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace capstan
