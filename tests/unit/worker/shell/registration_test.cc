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
    if (!has_all.HasBeenNotified()) has_all.Notify();
    while (!context->IsCancelled() && !ends.HasBeenNotified()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return answer;
  }

  absl::Notification has_all;
  absl::Notification ends;
  grpc::Status answer = grpc::Status::CANCELLED;
};

class RegistrationTest : public testing::Test {
 protected:
  absl::Status Declare() {
    DeclaredModel model;
    model.values.assign(1000, 1.0f);
    return DeclareModel(NewChannel(server_.address(), Role::kChief, /*tls=*/nullptr), model,
                        shutdown_);
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

// gRPC tells so of a call that was reset by the peer, or by a proxy between the two.
TEST_F(RegistrationTest, ADeclarationWhoseAnswerWasLostIsToBeRepeated) {
  chief_.ends.Notify();
  for (const grpc::StatusCode code : {grpc::StatusCode::INTERNAL, grpc::StatusCode::UNKNOWN}) {
    chief_.answer = grpc::Status(code, "RST_STREAM");
    EXPECT_TRUE(absl::IsUnavailable(Declare())) << code;
  }
}

TEST_F(RegistrationTest, AModelThatTheChiefRefusesIsNotDeclaredAgain) {
  chief_.ends.Notify();
  chief_.answer = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "another model");
  EXPECT_TRUE(absl::IsFailedPrecondition(Declare()));
}

}  // namespace
}  // namespace capstan::worker
