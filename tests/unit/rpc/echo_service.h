// A small real server for the tests of calls: Pull answers its request, Push never answers (until
// the call is cancelled), and WatchView streams three views and ends.
#ifndef CAPSTAN_TESTS_UNIT_RPC_ECHO_SERVICE_H_
#define CAPSTAN_TESTS_UNIT_RPC_ECHO_SERVICE_H_

#include <memory>

#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {

class EchoPs final : public v1::Ps::WithRawCallbackMethod_Pull<v1::Ps::CallbackService> {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context, const v1::PushRequest*,
                                 v1::PushReply*) override;
  grpc::ServerUnaryReactor* Flush(grpc::CallbackServerContext* context, const v1::FlushRequest*,
                                  v1::FlushReply* reply) override;
};

class ThreeViews final : public v1::Chief::Service {
 public:
  grpc::Status WatchView(grpc::ServerContext*, const v1::WatchViewRequest*,
                         grpc::ServerWriter<v1::View>* writer) override;
};

// A server of both on a free port of loopback.
struct TestServer {
  TestServer();
  Channel Connect() const;

  EchoPs ps;
  ThreeViews chief;
  std::unique_ptr<Server> server;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_RPC_ECHO_SERVICE_H_
