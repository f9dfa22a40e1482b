#include "capstan/rpc/health.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/rpc/channel.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace capstan {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthTest : public testing::Test {
 protected:
  HealthTest() : health_(*HealthServer::Start("127.0.0.1:0")) {
    stub_ = grpc::health::v1::Health::NewStub(
        NewPlainChannel(absl::StrCat("127.0.0.1:", health_->port())));
  }

  int Check(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    grpc::ClientContext context;
    grpc::Status status = stub_->Check(&context, request, &response);
    return status.ok() ? int{response.status()} : -int{status.error_code()};
  }

  std::unique_ptr<HealthServer> health_;
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
};

TEST_F(HealthTest, IsAliveButNotReadyAtFirst) {
  EXPECT_EQ(Check("liveness"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("startup"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("readiness"), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthTest, AnswersNotFoundForAnUnknownProbe) {
  EXPECT_EQ(Check("liveliness"), -grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthTest, AWatcherSeesReadinessComeAndGo) {
  HealthCheckRequest request;
  request.set_service("readiness");
  grpc::ClientContext context;
  auto reader = stub_->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  health_->Set(Probe::kReadiness, true);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("readiness"), HealthCheckResponse::SERVING) << "watchers must not block checks";
  context.TryCancel();
}

TEST_F(HealthTest, AWatcherOfAnUnknownProbeIsToldSo) {
  HealthCheckRequest request;
  request.set_service("nothing");
  grpc::ClientContext context;
  auto reader = stub_->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
}

TEST_F(HealthTest, EachProbeHasAnAnswerOfItsOwn) {
  health_->Set(Probe::kStartup, true);
  EXPECT_EQ(Check("startup"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("readiness"), HealthCheckResponse::NOT_SERVING);
  health_->Set(Probe::kLiveness, false);
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING) << "it means liveness";
  EXPECT_EQ(Check("startup"), HealthCheckResponse::SERVING);
}

TEST_F(HealthTest, TooManyWatchersAreRefusedAndChecksStillAnswered) {
  constexpr int kWatchers = 8;
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader;
  };
  std::vector<std::unique_ptr<Watch>> watches;
  HealthCheckResponse response;
  for (int i = 0; i < kWatchers; ++i) {
    auto watch = std::make_unique<Watch>();
    watch->reader = stub_->Watch(&watch->context, HealthCheckRequest());
    ASSERT_TRUE(watch->reader->Read(&response)) << i;
    watches.push_back(std::move(watch));
  }
  grpc::ClientContext context;
  const auto reader = stub_->Watch(&context, HealthCheckRequest());
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Check("liveness"), HealthCheckResponse::SERVING);
  for (const auto& watch : watches) watch->context.TryCancel();
}

TEST_F(HealthTest, SaysThatItsPortIsTaken) {
  const auto second = HealthServer::Start(absl::StrCat("127.0.0.1:", health_->port()));
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_TRUE(absl::IsInvalidArgument(HealthServer::Start("nowhere").status()));
}

}  // namespace
}  // namespace capstan
