#include "worker/shell/registration.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::worker {
namespace {

// A chief that stores a model for as long as its caller waits, as with a store far away, or until
// it ends itself.
class SlowChief : public v1::Chief::Service {
 public:
  grpc::Status DeclareModel(grpc::ServerContext* context,
                            grpc::ServerReader<v1::DeclareModelRequest>* reader,
                            v1::DeclareModelReply*) override {
    v1::DeclareModelRequest request;
    while (reader->Read(&request)) continue;
    has_all.Notify();
    while (!context->IsCancelled() && !ends.HasBeenNotified()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return grpc::Status::CANCELLED;
  }

  absl::Notification has_all;
  absl::Notification ends;
};

class RegistrationTest : public testing::Test {
 protected:
  absl::Status Declare() {
    DeclaredModel model;
    model.values.assign(1000, 1.0f);
    return DeclareModel(NewChannel(server_.address(), Role::kChief), model, shutdown_);
  }

  SlowChief chief_;
  LocalService server_{chief_};
  Shutdown shutdown_;
};

TEST_F(RegistrationTest, AWorkerThatIsAskedToStopDoesNotWaitUntilItsModelIsStored) {
  std::thread stops([this] {
    chief_.has_all.WaitForNotification();
    shutdown_.Request();
  });
  EXPECT_EQ(Declare(), absl::CancelledError("asked to stop"));
  stops.join();
}

TEST_F(RegistrationTest, AChiefThatEndsWhileAModelIsDeclaredIsToBeAskedAgain) {
  chief_.ends.Notify();
  EXPECT_TRUE(absl::IsUnavailable(Declare()));
}

}  // namespace
}  // namespace capstan::worker
