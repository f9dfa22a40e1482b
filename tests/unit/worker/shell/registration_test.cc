#include "worker/shell/registration.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/v1/chief.grpc.pb.h"

namespace capstan::worker {
namespace {

// A chief that stores a model for as long as its caller waits, as with a store far away.
class SlowChief : public v1::Chief::Service {
 public:
  grpc::Status DeclareModel(grpc::ServerContext* context,
                            grpc::ServerReader<v1::DeclareModelRequest>* reader,
                            v1::DeclareModelReply*) override {
    v1::DeclareModelRequest request;
    while (reader->Read(&request)) continue;
    has_all.Notify();
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }

  absl::Notification has_all;
};

TEST(RegistrationTest, AWorkerThatIsAskedToStopDoesNotWaitUntilItsModelIsStored) {
  SlowChief chief;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&chief);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();

  Shutdown shutdown;
  std::thread stops([&] {
    chief.has_all.WaitForNotification();
    shutdown.Request();
  });
  DeclaredModel model;
  model.values.assign(1000, 1.0f);
  const Channel channel = NewChannel(absl::StrCat("127.0.0.1:", port), Role::kChief);
  EXPECT_EQ(DeclareModel(channel, model, shutdown), absl::CancelledError("asked to stop"));
  stops.join();
}

}  // namespace
}  // namespace capstan::worker
