// `capstan shards` and `capstan rebalance` with a chief that the test plays.
#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "capstan/v1/chief.grpc.pb.h"
#include "tests/unit/cli/commands/run_command.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class ChiefOfShards final : public v1::Chief::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    reply->set_job("ctr");
    reply->add_shards()->set_state("serving");
    return grpc::Status::OK;
  }
  grpc::Status Rebalance(grpc::ServerContext*, const v1::RebalanceRequest* request,
                         v1::RebalanceReply* reply) override {
    (request->plan_only() ? plans : begun) += 1;
    if (moves) reply->add_moves();
    return grpc::Status::OK;
  }

  std::atomic<int> plans = 0, begun = 0;
  std::atomic<bool> moves = true;
};

TEST(ShardsCommandsTest, MovesBeginOnlyWhereNotThePlanAloneIsAskedFor) {
  ChiefOfShards chief;
  const worker::LocalService service(chief);
  const std::string address = service.address();
  const CommandResult plan = RunCommand(AddRebalance, {"rebalance", "--plan", "--chief", address});
  EXPECT_EQ(plan.exit_code, kDone) << plan.errors;
  EXPECT_THAT(plan.output, Not(HasSubstr("begun")));
  EXPECT_EQ(chief.begun.load(), 0);
  const CommandResult begun = RunCommand(AddRebalance, {"rebalance", "--chief", address});
  EXPECT_EQ(begun.exit_code, kDone) << begun.errors;
  EXPECT_THAT(begun.output, HasSubstr("begun; `capstan shards` tells how far it is\n"));
  EXPECT_EQ(chief.begun.load(), 1);
  chief.moves = false;
  EXPECT_THAT(RunCommand(AddRebalance, {"rebalance", "--chief", address}).output,
              Not(HasSubstr("begun")))
      << "nothing was to be moved";
}

TEST(ShardsCommandsTest, TellsTheShardsAndNoMovesWhereThereAreNone) {
  ChiefOfShards chief;
  const worker::LocalService service(chief);
  const CommandResult shards = RunCommand(AddShards, {"shards", "--chief", service.address()});
  EXPECT_EQ(shards.exit_code, kDone) << shards.errors;
  EXPECT_THAT(shards.output, HasSubstr("ps-0"));
  EXPECT_THAT(shards.output, Not(HasSubstr("\n\n")));
}

TEST(ShardsCommandsTest, AChiefThatIsNoAddressOrDoesNotAnswerIsToldFromOneAnother) {
  const CommandResult no_address = RunCommand(AddShards, {"shards", "--chief", "ctr-chief"});
  EXPECT_EQ(no_address.exit_code, kBadInput);
  EXPECT_THAT(no_address.errors, HasSubstr("is not host:port"));
  std::string address;
  {
    ChiefOfShards chief;
    address = worker::LocalService(chief).address();
  }
  const CommandResult nobody = RunCommand(AddRebalance, {"rebalance", "--chief", address});
  EXPECT_EQ(nobody.exit_code, kFailed);
  EXPECT_THAT(nobody.errors, HasSubstr("chief at " + address + ": "));
}

}  // namespace
}  // namespace capstan::cli
