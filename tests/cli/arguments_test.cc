#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;

using ArgumentsTest = CommandTest;

TEST_F(ArgumentsTest, EveryCommandHasHelpWithAnExample) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"train"},
                                             {"check"},
                                             {"status"},
                                             {"top"},
                                             {"evaluate"},
                                             {"predict"},
                                             {"config"},
                                             {"config", "check"},
                                             {"data"},
                                             {"data", "generate"},
                                             {"completion"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const Result result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr("Example:\n  "));
  }
}

TEST_F(ArgumentsTest, TellsItsVersion) {
  const Result result = Run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("capstan"));
}

TEST_F(ArgumentsTest, EndsWith2WhenItDoesNotUnderstand) {
  EXPECT_EQ(Run({}).exit_code, 2);
  EXPECT_EQ(Run({"trian"}).exit_code, 2);
  EXPECT_EQ(Run({"train"}).exit_code, 2);
  EXPECT_EQ(Run({"train", "job.yaml", "--shards", "none"}).exit_code, 2);
  EXPECT_EQ(Run({"train", "job.yaml", "--workers", "0"}).exit_code, 2);
  EXPECT_EQ(Run({"completion", "tcsh"}).exit_code, 2);
}

TEST_F(ArgumentsTest, RefusesAJobFileThatIsNotThere) {
  const Result result = Run({"config", "check", "absent.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("absent.yaml"));
}

TEST_F(ArgumentsTest, CheckTellsTheTasksOfAJob) {
  WriteJob();
  const Result result = Run({"config", "check", "job.yaml", "--workers", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("tasks"));
}

TEST_F(ArgumentsTest, CheckRefusesAnOverrideThatIsWrong) {
  WriteJob();
  const Result result = Run({"config", "check", "job.yaml", "--set", "train.batch_size=none"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("train.batch_size"));
}

TEST_F(ArgumentsTest, StatusSaysThatNobodyAnswersAndGivesUp) {
  const Result result = Run({"status", "--chief", "127.0.0.1:1", "--wait", "4"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("chief at 127.0.0.1:1"));
  EXPECT_THAT(result.output, HasSubstr("waiting"));
}

TEST_F(ArgumentsTest, StatusAsksForAChiefWhenItKnowsNone) {
  const Result result = Run({"status"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("--chief"));
}

TEST_F(ArgumentsTest, TopAsksTheSameChiefAsStatusAndGivesUp) {
  EXPECT_EQ(Run({"top"}).exit_code, 2);
  const Result result = Run({"top", "--chief", "127.0.0.1:1", "--wait", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("chief at 127.0.0.1:1"));
}

TEST_F(ArgumentsTest, GeneratesTheSameDataEachTime) {
  ASSERT_EQ(Run({"data", "generate", "a", "--rows", "500", "--eval-rows", "100"}).exit_code, 0);
  const Result result = Run({"data", "generate", "b", "--rows", "500", "--eval-rows", "100"});
  EXPECT_THAT(result.output, HasSubstr("best possible AUC"));
  EXPECT_EQ(ReadFile("a/train.csv"), ReadFile("b/train.csv"));
  EXPECT_NE(ReadFile("a/train.csv"), "");
}

// What bash would offer after the given words.
std::string Offered(const std::string& words) {
  return "source completion.bash; COMP_WORDS=(" + words +
         "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _capstan; echo ${COMPREPLY[@]}";
}

TEST_F(ArgumentsTest, BashCompletesCommandsAndOptions) {
  WriteFile("completion.bash", Run({"completion", "bash"}).output);
  const auto offered = [this](const std::string& words) {
    absl::StatusOr<Process> bash =
        Process::Start({.argv = {"/bin/bash", "-c", Offered(words)}, .log_path = "offered"});
    EXPECT_TRUE(bash.ok());
    bash->WaitFor(absl::Seconds(10));
    const std::string text = ReadFile("offered");
    std::filesystem::remove("offered");
    return text;
  };
  EXPECT_EQ(offered("capstan tr"), "train\n");
  EXPECT_EQ(offered("capstan config ch"), "check\n");
  EXPECT_EQ(offered("capstan train job.yaml --sh"), "--shards\n");
}

}  // namespace
}  // namespace capstan::cli
