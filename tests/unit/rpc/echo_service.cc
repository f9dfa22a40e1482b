#include "tests/unit/rpc/echo_service.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"

namespace capstan {
namespace {

// Holds the call until its client gives up.
class Silent final : public grpc::ServerUnaryReactor {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* EchoPs::Pull(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  *reply = *request;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* EchoPs::Push(grpc::CallbackServerContext*, const v1::PushRequest*,
                                       v1::PushReply*) {
  return new Silent;
}

grpc::ServerUnaryReactor* EchoPs::Flush(grpc::CallbackServerContext* context,
                                        const v1::FlushRequest*, v1::FlushReply* reply) {
  reply->set_gradients(7);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::Status ThreeViews::WatchView(grpc::ServerContext*, const v1::WatchViewRequest*,
                                   grpc::ServerWriter<v1::View>* writer) {
  v1::View view;
  for (uint64_t n = 1; n <= 3; ++n) {
    view.mutable_epoch()->set_n(n);
    writer->Write(view);
  }
  return grpc::Status::OK;
}

TestServer::TestServer() {
  auto started = Server::Start({.listen = "127.0.0.1:0"}, {&ps, &chief});
  CAPSTAN_CHECK(started.ok());
  server = *std::move(started);
}

Channel TestServer::Connect() const {
  return NewChannel(absl::StrCat("127.0.0.1:", server->port()), Role::kPs, /*tls=*/nullptr);
}

}  // namespace capstan
