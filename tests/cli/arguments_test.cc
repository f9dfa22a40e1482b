#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using ArgumentsTest = CommandTest;

TEST_F(ArgumentsTest, EveryCommandHasHelpWithAnExampleOfItsOwn) {
  for (const std::string command : {"",
                                    "train",
                                    "check",
                                    "status",
                                    "top",
                                    "shards",
                                    "rebalance",
                                    "stop",
                                    "evaluate",
                                    "predict",
                                    "serve",
                                    "config",
                                    "config check",
                                    "config keys",
                                    "data",
                                    "plan",
                                    "data generate",
                                    "completion",
                                    "checkpoint",
                                    "checkpoint list",
                                    "checkpoint show",
                                    "checkpoint verify",
                                    "checkpoint diff",
                                    "checkpoint export",
                                    "checkpoint prune",
                                    "checkpoint compact"}) {
    std::vector<std::string> arguments = absl::StrSplit(command, ' ', absl::SkipEmpty());
    arguments.push_back("--help");
    const Result result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr("Example:\n  "));
    if (command == "completion") continue;  // Is used within another command.
    EXPECT_THAT(result.output, HasSubstr("Example:\n  capstan " + command));
  }
}

TEST_F(ArgumentsTest, SaysWhatWasPerhapsMeant) {
  EXPECT_EQ(Run({"trian"}).output, "capstan: unknown command trian; did you mean train?\n");
  EXPECT_EQ(Run({"checkpoint", "lst", "x"}).output,
            "capstan: unknown command lst; did you mean list?\n");
  EXPECT_EQ(Run({"train", "job.yaml", "--shard", "3"}).output,
            "capstan: unknown option --shard; did you mean --shards?\n");
  EXPECT_THAT(Run({"train", "job.yaml", "--worker", "3"}).output,
              HasSubstr("3 is a number, not a command; did you mean --workers 3?"));
  EXPECT_THAT(Run({"frobnicate"}).output, HasSubstr("unknown command frobnicate; expected one of"));
}

TEST_F(ArgumentsTest, RefusesAChiefThatIsNoAddress) {
  for (const std::string address : {"nonsense", "host:", ":7000", "host:70000"}) {
    const Result result = Run({"status", "--chief", address});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.output, HasSubstr("--chief: \"" + address + "\" is not host:port"));
  }
}

TEST_F(ArgumentsTest, WhatIsSaidOfAProgramThatServesNeedsTheProgram) {
  for (const char* option : {"--processes", "--timeout"}) {
    const Result result = Run({"serve", "out", option, "2"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.output, HasSubstr(std::string(option) + " requires --program"));
  }
  EXPECT_EQ(Run({"serve", "out", "--program", "true", "--processes", "0"}).exit_code, 2);
}

TEST_F(ArgumentsTest, AConnectionOfServeIsKeptForATimeThatIsSaid) {
  EXPECT_THAT(Run({"serve", "--help"}).output,
              HasSubstr("--keep-alive FLOAT:FLOAT in [0.1 - 3600]=5"));
  const Result refused = Run({"serve", "out", "--keep-alive", "0"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("--keep-alive: Value 0 not in range"));
}

TEST_F(ArgumentsTest, HelpSaysThatAProgramIsStartedByOneSimpleCommand) {
  for (const char* command : {"train", "serve"}) {
    EXPECT_THAT(Run({command, "--help"}).output,
                HasSubstr("one simple command, as 'env X=1 python3 model.py', or a script"))
        << command;
  }
}

TEST_F(ArgumentsTest, HelpTellsEveryExitCode) {
  EXPECT_THAT(Run({"--help"}).output,
              HasSubstr("Exit codes: 0 done, 1 failed, 2 bad input, 3 interrupted"));
}

TEST_F(ArgumentsTest, StatusRefusesOptionsOfWhichOneWouldBeIgnored) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"out/ctr", "--kubernetes", "ctr"},
           {"out/ctr", "--chief", "ctr-chief:7000"},
           {"out/ctr", "--answer-lines"},
           {"--answer-lines", "--kubernetes", "ctr"},
           {"--answer-lines", "--json", "--chief", "127.0.0.1:1"}}) {
    std::vector<std::string> command = {"status", "--wait", "0"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Result result = Run(command);
    EXPECT_EQ(result.exit_code, 2) << arguments.front();
    EXPECT_THAT(result.output, HasSubstr(" excludes ")) << arguments.front();
  }
}

TEST_F(ArgumentsTest, RefusesNumbersOfRowsThatCannotBeMeant) {
  for (const char* rows : {"-5", "0"}) {
    EXPECT_EQ(Run({"data", "generate", "a", "--rows", rows}).exit_code, 2) << rows;
  }
  EXPECT_FALSE(std::filesystem::exists("a"));
}

TEST_F(ArgumentsTest, CheckEstimatesTheRowsOfTheTables) {
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: synthetic, synthetic: {train_rows: 200000, vocabulary: [10, 7]}}\n"
            "model: {preset: fm}\n");
  EXPECT_THAT(Run({"config", "check", "job.yaml"}).output, HasSubstr("for about 17 rows"));
}

TEST_F(ArgumentsTest, CheckDoesNotSayThatAModelIsNotWritten) {
  WriteJob();
  EXPECT_THAT(Run({"config", "check", "job.yaml"}).output,
              HasSubstr("`capstan train` keeps the job in capstan-runs/jobs"));
}

TEST_F(ArgumentsTest, CheckNamesWhatAFileLooksLike) {
  WriteFile("wine.csv", "7.4;0.7;0\n7.8;0.88;1\n");
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: csv, train: wine.csv, schema: {label: 2, numeric: \"0-1\"}}\n"
            "model: {preset: lr}\n");
  EXPECT_THAT(Run({"config", "check", "job.yaml"}).output,
              HasSubstr("wine.csv: has one column; it looks like cells with ';' between them"));
}

TEST_F(ArgumentsTest, CheckSaysHowATowerOfOnesOwnIsBuiltIn) {
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: synthetic}\n"
            "model: {towers: [{kind: mine}], loss: logistic}\n");
  EXPECT_THAT(Run({"config", "check", "job.yaml"}).output,
              HasSubstr("capstan_add_programs(TOWERS "));
}

TEST_F(ArgumentsTest, NamesAFolderWithoutAModelOnceAndSaysWhatIsExpected) {
  WriteFile("file", "x");
  EXPECT_THAT(Run({"evaluate", "file"}).output, StartsWith("capstan: file: holds no model; "));
  EXPECT_EQ(Run({"checkpoint", "list", "file"}).output,
            "capstan: file: is no folder, or something on the way to it is none\n");
  EXPECT_THAT(Run({"evaluate", "nowhere"}).output,
              HasSubstr("capstan: nowhere: holds no model; expected the folder of a checkpoint"));
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

TEST_F(ArgumentsTest, TellsWhatAKeyMeans) {
  EXPECT_EQ(Run({"config", "keys", "train.clip_norm"}).output,
            "train.clip_norm  a number, above 0\n"
            "    Bound of the norm of a worker's whole gradient.\n");
  EXPECT_THAT(Run({"config", "keys"}).output, Not(HasSubstr("Bound of the norm")));
  const Result unknown = Run({"config", "keys", "train.clap"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.output,
            "capstan: no key begins with train.clap; `capstan config keys` lists them all\n");
}

TEST_F(ArgumentsTest, MakesTheTablesOfKeysOfAPage) {
  WriteFile("page.md", "# Keys\n");
  const Result refused = Run({"config", "keys", "--page", "page.md"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("page.md: expected one line <!-- keys: job"));
  EXPECT_EQ(Run({"config", "keys", "--page", "absent.md"}).output,
            "capstan: absent.md: no such file\n");
  EXPECT_EQ(Run({"config", "keys", "train", "--page", "page.md"}).exit_code, 2);
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

TEST_F(ArgumentsTest, GeneratedDataTakeThePlaceOfFilesOnlyWhenToldTo) {
  std::filesystem::create_directory("mine");
  for (const std::string file : {"mine/train.csv", "mine/test.csv"}) {
    WriteFile(file, "my own\n");
    const Result refused = Run({"data", "generate", "mine", "--rows", "10", "--eval-rows", "10"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.output, "capstan: " + file + ": is there already; --force overwrites it\n");
    EXPECT_EQ(ReadFile(file), "my own\n");
    std::filesystem::remove(file);
    EXPECT_TRUE(std::filesystem::is_empty("mine"));
  }
  WriteFile("mine/test.csv", "my own\n");
  EXPECT_EQ(Run({"data", "generate", "mine", "--rows", "10", "--eval-rows", "0"}).exit_code, 0);
  EXPECT_EQ(ReadFile("mine/test.csv"), "my own\n");
  EXPECT_EQ(
      Run({"data", "generate", "mine", "--rows", "10", "--eval-rows", "9", "--force"}).exit_code,
      0);
  EXPECT_NE(ReadFile("mine/test.csv"), "my own\n");
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
