// `capstan plan`: what docs/plan.md shows is what it prints.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/cli/command.h"
#include "tests/lib/source_folder.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;

using PlanTest = CommandTest;

std::string Docs() { return SourceFolder() + "/docs/"; }

std::string ReadDocument() {
  std::ifstream file(Docs() + "plan.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A block begins with "$ capstan plan docs/plan/...", its options in further lines after a
// backslash, and goes on with the output.
TEST_F(PlanTest, TheExamplesOfTheDocsAreWhatTheCommandPrints) {
  std::vector<std::string> blocks = absl::StrSplit(ReadDocument(), "```");
  int examples = 0;
  for (const std::string& block : blocks) {
    if (!absl::StartsWith(block, "\n$ capstan plan docs/")) continue;
    ++examples;
    std::vector<std::string> words;
    std::string shown;
    bool command = true;
    const std::vector<std::string> lines = absl::StrSplit(block.substr(1), '\n');
    for (const std::string& line : lines) {
      if (!command) {
        shown += line + "\n";
        continue;
      }
      for (const auto word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
        words.emplace_back(word);
      }
      command = words.back() == "\\";
      if (command) words.pop_back();
    }
    shown.pop_back();  // Behind the last line comes the end of the block.
    words.erase(words.begin(), words.begin() + 2);
    words[1] = Docs() + words[1].substr(std::string("docs/").size());
    const Result result = Run(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.output, shown);
  }
  EXPECT_EQ(examples, 2);
}

TEST_F(PlanTest, WhatDoesNotFitIsToldAndExitsWithTwo) {
  const Result result = Run({"plan", Docs() + "plan/clicks.yaml", "--data", "20TB", "--rows", "12G",
                             "--step-seconds", ".02", "--shards", "2", "--shard-memory", "64GiB"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("does not fit: a shard takes "));
}

TEST_F(PlanTest, AsJsonItSaysWhatDoesNotFit) {
  const Result result =
      Run({"plan", Docs() + "plan/clicks.yaml", "--data", "20TB", "--rows", "12G", "--step-seconds",
           ".02", "--shards", "2", "--shard-memory", "64GiB", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  google::protobuf::Struct json;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.output, &json).ok())
      << result.output;
  EXPECT_GE(json.fields().at("step_seconds").number_value(), .02);
  ASSERT_EQ(json.fields().at("does_not_fit").list_value().values_size(), 1);
  EXPECT_THAT(json.fields().at("does_not_fit").list_value().values(0).string_value(),
              HasSubstr("a shard takes "));
}

TEST_F(PlanTest, DenseParametersAreSaidOfAProgramAlone) {
  const Result result = Run({"plan", Docs() + "plan/clicks.yaml", "--data", "20TB", "--rows", "12G",
                             "--step-seconds", ".02", "--dense-parameters", "25.5M"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.output,
      "--dense-parameters: is for a program of model.user, and the job names none; how many its "
      "model has is known\n");
  const Result measured =
      Run({"plan", Docs() + "plan/images.yaml", "--measure", "--dense-parameters", "25.5M"});
  EXPECT_EQ(measured.exit_code, 2);
  EXPECT_THAT(measured.output, HasSubstr(" excludes "));
}

TEST_F(PlanTest, HelpSaysHowManyKeysABatchIsTakenToHave) {
  const std::string help = Run({"plan", "--help"}).output;
  EXPECT_THAT(help, HasSubstr("Different keys of a batch; default: as many as"));
  EXPECT_THAT(help, ::testing::Not(HasSubstr("all are different")));
}

TEST_F(PlanTest, DataOfNoBytesAreRefused) {
  const Result result =
      Run({"plan", Docs() + "plan/clicks.yaml", "--data", "0", "--step-seconds", ".02"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "--data: is 0\n");
}

TEST_F(PlanTest, ABatchOfUnknownLengthIsAskedFor) {
  const Result result =
      Run({"plan", Docs() + "plan/clicks.yaml", "--data", "20TB", "--rows", "12G"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("--step-seconds"));
}

}  // namespace
}  // namespace capstan::cli
