// Pings on a connection without calls. The times are gRPC's own and cannot be injected; they are
// those of Capstan, all divided by the same number (gRPC sends at most one ping a second).

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/rpc/limits.h"
#include "tests/unit/rpc/echo_service.h"

namespace capstan {
namespace {

constexpr int kFaster = 8;
constexpr int kPings = 5;  // One more than a server forgives, and one to be sure.

constexpr Keepalive Shortened() {
  const Keepalive real;
  return {.time = real.time / kFaster,
          .timeout = real.timeout / kFaster,
          .min_ping_interval = real.min_ping_interval / kFaster};
}

struct Connection {
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
};

Connection Connect(grpc::Service& service, const Keepalive& of_server, const Keepalive& of_client) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  SetKeepalive([&](const char* name, int value) { builder.AddChannelArgument(name, value); },
               of_server);
  Connection connection{.server = builder.BuildAndStart()};
  grpc::ChannelArguments arguments;
  SetKeepalive([&](const char* name, int value) { arguments.SetInt(name, value); }, of_client);
  connection.channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                                 grpc::InsecureChannelCredentials(), arguments);
  EXPECT_TRUE(
      connection.channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(10))));
  return connection;
}

// Returns whether the connection breaks while nobody calls.
bool BreaksWithin(const Connection& idle, absl::Duration time) {
  return idle.channel->WaitForStateChange(GRPC_CHANNEL_READY,
                                          absl::ToChronoTime(absl::Now() + time));
}

TEST(KeepaliveTest, AnIdleConnectionIsKeptThroughItsPings) {
  EchoPs ps;
  const Connection idle = Connect(ps, Shortened(), Shortened());
  EXPECT_FALSE(BreaksWithin(idle, kPings * absl::Milliseconds(Shortened().time)));
}

TEST(KeepaliveTest, AClientThatPingsTooOftenIsSentAway) {
  EchoPs ps;
  const Connection idle = Connect(ps, Keepalive(), Shortened());
  EXPECT_TRUE(BreaksWithin(idle, 2 * kPings * absl::Milliseconds(Shortened().time)));
}

}  // namespace
}  // namespace capstan
