// `capstan stop` with the real chief, shards and workers beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;

class StopCommandTest : public CommandTest {
 protected:
  StopCommandTest() {
    UseRealServices();
    WriteFile("job.yaml",
              "job: demo\n"
              "data:\n"
              "  format: synthetic\n"
              "  synthetic: {train_rows: 20000, eval_rows: 1000}\n"
              "  task_records: 2000\n"
              "model: {preset: lr}\n"
              "train: {batch_size: 100, epochs: 100000}\n"
              "checkpoint: {uri: model}\n");
  }

  // Runs a command beside the one that Start has begun, whose output it leaves alone.
  static Result RunBeside(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bin/capstan");
    absl::StatusOr<Process> process = Process::Start({.argv = arguments, .log_path = "beside"});
    EXPECT_TRUE(process.ok()) << process.status();
    const std::optional<Ending> ending = process->WaitFor(absl::Seconds(30));
    Result result{.exit_code = ending.has_value() ? ending->exit_code : -1};
    std::ifstream file("beside");
    result.output = {std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove("beside");
    return result;
  }

  static void AwaitTraining() {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    Result status;
    while (absl::Now() < deadline) {
      status = RunBeside({"status", "--json"});
      if (status.output.find("JOB_STATE_RUNNING") != std::string::npos) return;
      absl::SleepFor(absl::Milliseconds(20));
    }
    ADD_FAILURE() << "it does not train: " << status.output;
  }
};

TEST_F(StopCommandTest, EndsAJobWithItsModelWhichGoesOnFromThereWithMoreEpochs) {
  Process train = Start({"train", "job.yaml", "--plain"});
  AwaitTraining();
  const Result stop = RunBeside({"stop", "--reason", "good enough"});
  EXPECT_EQ(stop.exit_code, 0) << stop.output;
  EXPECT_THAT(stop.output, HasSubstr("demo: ends in order: what is under way is finished"));
  const Result trained = Await(train);
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("stopped: good enough"));
  EXPECT_THAT(trained.output, HasSubstr("  held out  AUC 0."));
  EXPECT_EQ(Run({"evaluate", "model/demo"}).exit_code, 0);

  Process more = Start({"train", "job.yaml", "--plain", "--set", "train.epochs=100001"});
  AwaitTraining();
  EXPECT_EQ(RunBeside({"stop"}).exit_code, 0);
  const Result again = Await(more);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("goes on from checkpoint "));
  EXPECT_THAT(again.output, HasSubstr("stopped: on request"));
}

TEST_F(StopCommandTest, SaysThatThereIsNothingToStop) {
  const Result none = Run({"stop"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("which job? Say --chief host:port"));
}

}  // namespace
}  // namespace capstan::cli
