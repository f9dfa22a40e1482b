// What `capstan plan` takes for a number. tests/cli/plan_test.cc has what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/lib/source_folder.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/commands/run_command.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

class PlanCommandTest : public testing::Test {
 protected:
  // The plan of a job whose data are not looked at.
  CommandResult PlanWith(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"plan", job_, "--data", "1GB", "--rows", "1M"};
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddPlan, words);
  }

  const TestFolder folder_;
  const std::string job_ =
      folder_.Write("job.yaml",
                    "job: demo\n"
                    "data: {format: csv, train: s3://ads/t.csv, schema: {label: 0, "
                    "numeric: \"1-2\", categorical: \"3-4\"}}\n"
                    "model: {preset: lr}\n"
                    "update: {dense: {policy: async}, sparse: {policy: "
                    "async}}\n");
};

TEST_F(PlanCommandTest, ANetworkIsGivenInBitsOrBytesASecond) {
  for (const char* rate : {"10Gbit", "0.5Mbit", "10 Gbit", "1GB", "64MiB", "1000"}) {
    const CommandResult result = PlanWith({"--step-seconds", "1", "--network", rate});
    EXPECT_EQ(result.exit_code, kDone) << rate << result.errors;
  }
}

TEST_F(PlanCommandTest, WhatIsNoRateOfANetworkIsToldWhatOneLooksLike) {
  for (const std::string rate : {"10gbit", "Gbit", "xGbit", "-1Gbit", "infGbit", "nanGbit",
                                 "1e300Gbit", "fast", "18446744073709551615"}) {
    const CommandResult result = PlanWith({"--step-seconds", "1", "--network", rate});
    EXPECT_EQ(result.exit_code, kBadInput) << rate;
    EXPECT_EQ(result.errors,
              "--network: \"" + rate + "\" is no rate, as 10Gbit, or as 1GB for bytes a second\n");
  }
  for (const char* nothing : {"0", "0Gbit", "0MB"}) {
    EXPECT_EQ(PlanWith({"--step-seconds", "1", "--network", nothing}).errors, "--network: is 0\n");
  }
}

TEST_F(PlanCommandTest, SecondsOfABatchAreANumberThatABatchMayTake) {
  for (const char* option : {"--step-seconds", "--step-deviation", "--read-seconds"}) {
    for (const char* seconds : {"inf", "nan", "-1", "1e300", "soon"}) {
      const CommandResult result = PlanWith({option, seconds});
      EXPECT_EQ(result.exit_code, kBadInput) << option << " " << seconds;
      EXPECT_THAT(result.errors, HasSubstr(option)) << seconds;
    }
  }
  EXPECT_EQ(PlanWith({"--step-seconds", ".02", "--step-deviation", "0"}).exit_code, kDone);
}

TEST_F(PlanCommandTest, ABatchThatTakesNoTimeIsNotPlanned) {
  const CommandResult result = PlanWith({"--step-seconds", "0"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_THAT(result.errors, HasSubstr("--step-seconds: how long a batch is computed must be"));
}

TEST_F(PlanCommandTest, MoreDenseParametersThanAnyProgramHasAreNotSaidToBeMissing) {
  const std::string job = SourceFolder() + "/docs/plan/images.yaml";  // Of a program.
  const auto with = [&job](const char* dense) {
    return RunCommand(AddPlan, {"plan", job, "--data", "1GB", "--step-seconds", "1",
                                "--dense-parameters", dense})
        .errors;
  };
  EXPECT_EQ(with("5G"), "--dense-parameters: 5G are more than 4294967295\n");
  EXPECT_THAT(with("0"), HasSubstr("must be said, as 25.5M"));
  EXPECT_THAT(with("many"), HasSubstr("\"many\" is no number, as 5000 or 1.5M"));
}

TEST_F(PlanCommandTest, SizesThatAreNoneAreToldWithTheirOption) {
  for (const std::string option : {"--store", "--shard-memory", "--chief-memory"}) {
    EXPECT_EQ(PlanWith({"--step-seconds", "1", option, "2GIB"}).errors,
              option + ": \"2GIB\" is no size, as 2GiB or 500MB\n");
  }
  EXPECT_EQ(PlanWith({"--step-seconds", "1", "--store", "0"}).errors, "--store: is 0\n");
  const CommandResult rates = PlanWith({"--step-seconds", "1", "--rates", folder_.Path("none")});
  EXPECT_EQ(rates.exit_code, kBadInput);
  EXPECT_EQ(rates.errors, folder_.Path("none") + ": cannot be read\n");
}

}  // namespace
}  // namespace capstan::cli
