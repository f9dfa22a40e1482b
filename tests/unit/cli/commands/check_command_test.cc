// `capstan check` with a chief, a health port and a port of metrics that the test plays.
#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/metrics/registry.h"
#include "capstan/metrics/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/unit/cli/commands/run_command.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class ChiefToCheck final : public v1::Chief::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    *reply = status;
    return grpc::Status::OK;
  }
  grpc::Status TakeCheckpoint(grpc::ServerContext*, const v1::TakeCheckpointRequest*,
                              v1::TakeCheckpointReply* reply) override {
    reply->set_uri("/m/ctr/checkpoints/7");
    return checkpoint;
  }

  v1::GetStatusReply status;  // Set before it is asked.
  grpc::Status checkpoint;
};

class HealthToCheck final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* reply) override {
    using Response = grpc::health::v1::HealthCheckResponse;
    reply->set_status(ready && request->service() == "readiness" ? Response::SERVING
                                                                 : Response::NOT_SERVING);
    return grpc::Status::OK;
  }

  bool ready = true;
};

class CheckCommandTest : public testing::Test {
 protected:
  CheckCommandTest() {
    metrics::AddBuildInfo(registry_);
    v1::ShardStatus& shard = *chief_.status.add_shards();
    shard.set_state("serving");
    shard.set_address("127.0.0.1:7000");
  }

  CommandResult Check(const std::vector<std::string>& more = {}) {
    const worker::LocalService chief(chief_), health(health_);
    const auto exposed = *metrics::Server::Start(registry_, "127.0.0.1", 0);
    const std::string health_port = health.address().substr(health.address().rfind(':') + 1);
    std::vector<std::string> words = {"check",
                                      "--chief",
                                      chief.address(),
                                      "--health-port",
                                      health_port,
                                      "--metrics-port",
                                      absl::StrCat(exposed->port())};
    if (more.empty()) words.insert(words.end(), {"--wait", "0"});
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddCheck, words);
  }

  ChiefToCheck chief_;
  HealthToCheck health_;
  metrics::Registry registry_;
};

TEST_F(CheckCommandTest, AJobThatIsWellIsToldProcessByProcess) {
  const CommandResult well = Check();
  EXPECT_EQ(well.exit_code, kDone) << well.output << well.errors;
  EXPECT_THAT(well.output, MatchesRegex("chief    127.0.0.1: ready, [0-9]+ series of metrics\n"
                                        "ps-0     127.0.0.1: ready, [0-9]+ series of metrics\n"));
}

TEST_F(CheckCommandTest, AShardThatDoesNotServeOrHasNotComeIsToldThoughAllOthersAreWell) {
  chief_.status.mutable_shards(0)->set_state("joining");
  const CommandResult joins = Check();
  EXPECT_EQ(joins.exit_code, kFailed);
  EXPECT_THAT(joins.output, HasSubstr("not every shard serves\n"));
  chief_.status.mutable_shards(0)->set_state("serving");
  chief_.status.set_waiting_for("ps-1\x1b[2J");
  const CommandResult waits = Check();
  EXPECT_EQ(waits.exit_code, kFailed);
  EXPECT_THAT(waits.output, HasSubstr("the job waits for ps-1?[2J\n"));
  chief_.status.clear_waiting_for();
  chief_.status.clear_shards();
  EXPECT_THAT(Check().output, HasSubstr("not every shard serves\n"));
}

TEST_F(CheckCommandTest, AProcessThatIsNotReadyIsToldAsThat) {
  health_.ready = false;
  const CommandResult result = Check();
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.output, HasSubstr("ps-0     127.0.0.1: it is not ready, "));
  EXPECT_THAT(result.output, Not(HasSubstr("capstan train"))) << "its ports are those asked";
}

TEST_F(CheckCommandTest, OfAJobOfThisMachineThatAnswersNowhereItSaysWhoTellsHowItIs) {
  const worker::LocalService chief(chief_);
  const CommandResult result =
      RunCommand(AddCheck, {"check", "--chief", chief.address(), "--health-port", "1",
                            "--metrics-port", "2", "--wait", "0"});
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.output, HasSubstr("`capstan status` tells how such a job is\n"));
}

TEST_F(CheckCommandTest, ACheckpointIsTakenWhereOneIsAskedFor) {
  EXPECT_THAT(Check().output, Not(HasSubstr("saved")));
  const CommandResult saved = Check({"--checkpoint", "--wait", "30"});
  EXPECT_EQ(saved.exit_code, kDone) << saved.output;
  EXPECT_THAT(saved.output, HasSubstr("saved    /m/ctr/checkpoints/7\n"));
  chief_.checkpoint = {grpc::StatusCode::FAILED_PRECONDITION, "it takes no checkpoints"};
  EXPECT_EQ(Check({"--checkpoint", "--wait", "30"}).exit_code, kDone)
      << "a job that saves nothing is well";
  chief_.checkpoint = {grpc::StatusCode::UNAVAILABLE, "the bucket is away"};
  EXPECT_EQ(Check({"--checkpoint", "--wait", "30"}).exit_code, kFailed);
}

TEST_F(CheckCommandTest, PortsThatThereAreNoneOfAreRefused) {
  for (const char* option : {"--health-port", "--metrics-port"}) {
    for (const char* port : {"0", "-1", "65536", "http"}) {
      const CommandResult result =
          RunCommand(AddCheck, {"check", "--chief", "127.0.0.1:1", "--wait", "0", option, port});
      EXPECT_EQ(result.exit_code, kBadInput) << option << " " << port;
      EXPECT_THAT(result.errors, HasSubstr(option));
    }
  }
}

}  // namespace
}  // namespace capstan::cli
