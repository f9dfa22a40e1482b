#include "cli/status/chief_client.h"

#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::cli {
namespace {

using testing::StartsWith;

constexpr absl::Duration kChiefPatience = absl::Seconds(20);

// Answers as told, and keeps what it was asked.
class ChiefThatAnswers final : public v1::Chief::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    reply->set_job("ctr");
    return answer;
  }
  grpc::Status TakeCheckpoint(grpc::ServerContext*, const v1::TakeCheckpointRequest*,
                              v1::TakeCheckpointReply* reply) override {
    reply->set_uri("/m/ctr/checkpoints/7");
    return answer;
  }
  grpc::Status Rebalance(grpc::ServerContext*, const v1::RebalanceRequest* request,
                         v1::RebalanceReply* reply) override {
    reply->add_moves();
    plan_only = request->plan_only();
    return answer;
  }

  grpc::Status answer;
  std::atomic<bool> plan_only = false;
};

TEST(ChiefClientTest, ReturnsWhatTheChiefAnswers) {
  ChiefThatAnswers chief;
  const worker::LocalService service(chief);
  ChiefClient client(service.address(), nullptr);
  EXPECT_EQ(client.GetStatus(kChiefPatience)->job(), "ctr");
  EXPECT_EQ(*client.TakeCheckpoint(kChiefPatience), "/m/ctr/checkpoints/7");
  EXPECT_EQ(client.Rebalance(/*plan_only=*/true, kChiefPatience)->moves_size(), 1);
  EXPECT_TRUE(chief.plan_only);
  EXPECT_TRUE(client.Rebalance(/*plan_only=*/false, kChiefPatience).ok());
  EXPECT_FALSE(chief.plan_only);
}

TEST(ChiefClientTest, AnErrorKeepsItsCodeAndNamesTheChief) {
  ChiefThatAnswers chief;
  chief.answer = {grpc::StatusCode::FAILED_PRECONDITION, "the job does not train"};
  const worker::LocalService service(chief);
  ChiefClient client(service.address(), nullptr);
  const absl::Status refused = absl::FailedPreconditionError(
      absl::StrCat("chief at ", service.address(), ": the job does not train"));
  EXPECT_EQ(client.GetStatus(kChiefPatience).status(), refused);
  EXPECT_EQ(client.TakeCheckpoint(kChiefPatience).status(), refused);
  EXPECT_EQ(client.Rebalance(true, kChiefPatience).status(), refused);
}

TEST(ChiefClientTest, WhereNobodyListensThatIsNoticedSoon) {
  std::string address;
  {
    ChiefThatAnswers chief;
    address = worker::LocalService(chief).address();
  }
  ChiefClient client(address, nullptr);
  const absl::Status nobody = client.GetStatus(absl::Minutes(5)).status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_THAT(std::string(nobody.message()), StartsWith("chief at " + address + ": "));
}

}  // namespace
}  // namespace capstan::cli
