// The exit codes of `capstan status`, with a chief that the test plays.
#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/v1/chief.grpc.pb.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/commands/run_command.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class ChiefWithStatus final : public v1::Chief::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    *reply = status;
    return grpc::Status::OK;
  }

  v1::GetStatusReply status;  // Set before it is asked.
};

class StatusCommandTest : public testing::Test {
 protected:
  StatusCommandTest() {
    chief_.status.set_job("ctr");
    chief_.status.set_term(1);
  }

  CommandResult Status(const std::vector<std::string>& more = {}) {
    const worker::LocalService service(chief_);
    std::vector<std::string> words = {"status", "--chief", service.address()};
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddStatus, words);
  }

  ChiefWithStatus chief_;
};

TEST_F(StatusCommandTest, ALookSucceedsHoweverTheJobIs) {
  for (const v1::JobState state :
       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_COMPLETED, v1::JOB_STATE_FAILED}) {
    chief_.status.set_state(state);
    const CommandResult look = Status();
    EXPECT_EQ(look.exit_code, kDone) << look.errors;
    EXPECT_THAT(look.output, StartsWith("ctr  "));
  }
}

TEST_F(StatusCommandTest, AsJsonItIsOneLineWhateverTheJobSays) {
  chief_.status.set_reason("a\nb\x1b");
  const CommandResult look = Status({"--json"});
  EXPECT_EQ(look.exit_code, kDone) << look.errors;
  EXPECT_THAT(look.output, StartsWith("{"));
  EXPECT_THAT(look.output, EndsWith("}\n"));
  EXPECT_EQ(look.output.find('\n'), look.output.size() - 1);
  EXPECT_EQ(look.output.find('\x1b'), look.output.npos);
}

TEST_F(StatusCommandTest, AWatchEndsAsTheJobDoes) {
  chief_.status.set_state(v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(Status({"--watch"}).exit_code, kDone);
  chief_.status.set_state(v1::JOB_STATE_FAILED);
  chief_.status.set_reason("the loss is NaN");
  const CommandResult failed = Status({"--watch"});
  EXPECT_EQ(failed.exit_code, kFailed);
  EXPECT_THAT(failed.output, HasSubstr("the loss is NaN"));
}

TEST_F(StatusCommandTest, AJobThatIsRefusedHasEndedWhereNobodyWaitsForItsCorrection) {
  chief_.status.set_term(0);
  chief_.status.set_state(v1::JOB_STATE_FAILED);
  EXPECT_EQ(Status({"--watch"}).exit_code, kFailed);
}

TEST_F(StatusCommandTest, NobodyWhoAnswersIsAFailureAndNoJobIsBadInput) {
  const std::string address = worker::LocalService(chief_).address();  // Which ends at once.
  const CommandResult nobody = RunCommand(AddStatus, {"status", "--chief", address, "--wait", "0"});
  EXPECT_EQ(nobody.exit_code, kFailed);
  EXPECT_THAT(nobody.errors, StartsWith("capstan: chief at " + address + ": "));
  const TestFolder folder;
  const CommandResult nothing = RunCommand(AddStatus, {"status", folder.path()});
  EXPECT_EQ(nothing.exit_code, kBadInput);
  EXPECT_THAT(nothing.errors, HasSubstr(folder.path() + ": holds no job"));
}

}  // namespace
}  // namespace capstan::cli
