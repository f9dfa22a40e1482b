// What `capstan train` understands. What it does is in tests/cli/train_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

// Why the words behind `capstan train` are not understood; empty: they are.
std::string WhyNotTrained(std::vector<std::string> words) {
  CLI::App app("Capstan", "capstan");
  Invocation invocation;
  AddTrain(app, invocation);
  words.insert(words.begin(), "train");
  std::vector<std::string> last_first(words.rbegin(), words.rend());
  try {
    app.parse(last_first);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return invocation.run == nullptr ? "nothing is to be run" : "";
}

TEST(TrainCommandTest, ANumberOfWorkersIsNotTakenForTheCommandOfOne) {
  for (const char* number : {"3", "+3", "-1", "0"}) {
    EXPECT_THAT(WhyNotTrained({"job.yaml", "--worker", number}),
                HasSubstr(std::string(number) + " is a number, not a command; did you mean "
                                                "--workers "))
        << number;
  }
  for (const char* command : {"python3 model.py", "./3", "3.py", "3 x"}) {
    EXPECT_EQ(WhyNotTrained({"job.yaml", "--worker", command}), "") << command;
  }
}

TEST(TrainCommandTest, ASettingTakesOneWordAndLeavesTheJobFile) {
  EXPECT_EQ(WhyNotTrained({"--set", "train.epochs=2", "job.yaml"}), "");
  EXPECT_EQ(WhyNotTrained({"--set", "a=1", "--set", "b=2", "job.yaml", "--plain"}), "");
  EXPECT_THAT(WhyNotTrained({"--set", "job.yaml"}), HasSubstr("job is required"));
}

TEST(TrainCommandTest, NumbersThatCannotBeMeantAreRefusedBeforeAnythingRuns) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--shards", "0"},
                                             {"--shards", "1001"},
                                             {"--workers", "-1"},
                                             {"--workers", "two"},
                                             {"--chief-port", "65536"},
                                             {"--workers", "99999999999999999999"}}) {
    std::vector<std::string> all = words;
    all.insert(all.begin(), "job.yaml");
    EXPECT_THAT(WhyNotTrained(all), HasSubstr(words.front())) << words.back();
  }
  EXPECT_EQ(WhyNotTrained({"job.yaml", "--shards", "1000", "--chief-port", "65535"}), "");
}

}  // namespace
}  // namespace capstan::cli
