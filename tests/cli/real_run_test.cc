// The command with the real chief, shards and workers beside it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RealRunTest : public CommandTest {
 protected:
  RealRunTest() {
    UseRealServices();
    WriteFile("job.yaml",
              "job: demo\n"
              "data:\n"
              "  format: synthetic\n"
              "  synthetic: {train_rows: 20000, eval_rows: 5000}\n"
              "  task_records: 2000\n"
              "model: {preset: lr}\n"
              "train: {batch_size: 100}\n"
              "checkpoint: {uri: model}\n");
  }

  // What follows `label` in `text`, up to the end of the line.
  static std::string After(const std::string& label, const std::string& text) {
    std::smatch match;
    return std::regex_search(text, match, std::regex(label + "(.*)")) ? match[1].str() : "";
  }

  // Of the newest run: waits until this process's log says `what`.
  void AwaitLog(const std::string& name, const std::string& what) {
    const std::string log = absl::StrCat("capstan-runs/latest/", name, ".log");
    AwaitThat(
        [&] { return std::filesystem::exists(log) && absl::StrContains(ReadFile(log), what); });
  }

  static void AwaitThat(absl::FunctionRef<bool()> condition) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!condition() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
  }

  // The process of this test's folder that writes to the ports file of `name`; 0: there is none.
  static int PidOf(const std::string& name) {
    const std::string ports = absl::StrCat(
        std::filesystem::canonical("capstan-runs/latest").string(), "/", name, ".ports");
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      int pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
      std::ifstream file(entry.path() / "cmdline");
      const std::string arguments{std::istreambuf_iterator<char>(file), {}};
      if (absl::StrContains(arguments, ports)) return pid;
    }
    return 0;
  }
};

TEST_F(RealRunTest, EvaluatesAndPredictsWithTheModelItHasTrained) {
  const Result train = Run({"train", "job.yaml", "--shards", "2", "--workers", "2"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const std::string held_out = After("  held out  ", train.output);
  const std::string model = After("  model     ", train.output);
  ASSERT_THAT(held_out, HasSubstr("AUC 0."));

  const Result evaluate = Run({"evaluate", model});
  EXPECT_EQ(evaluate.output, "5,000 examples  " + held_out + "\n");

  EXPECT_EQ(Run({"predict", model, "--output", "scores"}).exit_code, 0);
  const std::string scores = ReadFile("scores");
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 5000);
  EXPECT_THAT(scores, Not(HasSubstr("nan")));
  EXPECT_TRUE(std::filesystem::exists(After("  curve     ", train.output)));
  // A reader that goes before the end.
  const std::string piped = "bin/capstan predict " + model + " 2> said | true";
  EXPECT_EQ(std::system(("bash -o pipefail -c '" + piped + "'").c_str()), 0);
  EXPECT_EQ(ReadFile("said"), "");
}

TEST_F(RealRunTest, RefusesAModelOfWhichAByteHasChanged) {
  const Result train = Run({"train", "job.yaml"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const std::string model = After("  model     ", train.output);
  std::string partition = ReadFile(model + "/partition-0000.capstan");
  partition.back() ^= 1;
  WriteFile(model + "/partition-0000.capstan", partition);
  const Result evaluate = Run({"evaluate", model});
  EXPECT_EQ(evaluate.exit_code, 1);
  EXPECT_THAT(evaluate.output, HasSubstr("partition-0000.capstan"));
}

TEST_F(RealRunTest, RefusesAFolderWithoutAModel) {
  EXPECT_EQ(Run({"evaluate", "nowhere"}).exit_code, 2);
  EXPECT_EQ(Run({"predict", "nowhere", "test.csv"}).exit_code, 2);
}

TEST_F(RealRunTest, SaysThatThePortIsTaken) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  const Result result = Run({"train", "job.yaml", "--chief-port", port});
  close(taken);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr(port));
}

TEST_F(RealRunTest, WhoIsKilledIsStartedAgainAndTheJobGoesOn) {
  Process train = Start({"train", "job.yaml", "--set", "train.epochs=10"});
  for (const char* name : {"ps-0", "worker-0", "chief"}) {
    AwaitLog(name, "started");
    const int first = PidOf(name);
    ASSERT_GT(first, 0) << name;
    kill(first, SIGKILL);
    AwaitThat([&] { return PidOf(name) > 0 && PidOf(name) != first; });
  }
  const Result result = Await(train);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* name : {"ps-0", "worker-0", "chief"}) {
    EXPECT_THAT(result.output, HasSubstr(absl::StrCat(name, " died: signal 9 (Killed); it is")));
  }
  EXPECT_THAT(result.output, HasSubstr("200,000 examples"));
}

TEST_F(RealRunTest, ShowsTheStatusOfTheRunOfThisFolderAndStopsIt) {
  Process train = Start({"train", "job.yaml", "--set", "train.epochs=1000"});
  Result status;
  for (int i = 0; i < 300 && status.exit_code != 0; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    absl::StatusOr<Process> ask =
        Process::Start({.argv = {"bin/capstan", "status", "--json"}, .log_path = "status"});
    ASSERT_TRUE(ask.ok());
    status.exit_code = ask->WaitFor(absl::Seconds(30)).value_or(Ending{.exit_code = -1}).exit_code;
    status.output = ReadFile("status");
    std::filesystem::remove("status");
  }
  EXPECT_THAT(status.output, HasSubstr("\"job\":\"demo\""));
  train.Signal(SIGTERM);
  const Result result = Await(train);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, Not(HasSubstr("killed")));
}

}  // namespace
}  // namespace capstan::cli
