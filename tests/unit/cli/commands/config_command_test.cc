// `capstan config`: a job file is checked, and the keys of job files are listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/lib/test_folder.h"
#include "tests/unit/cli/commands/run_command.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConfigCommandTest : public testing::Test {
 protected:
  // Checks a job whose file is this, on built-in data.
  CommandResult Check(const std::string& text, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"config", "check", folder_.Write("job.yaml", text)};
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddConfig, words);
  }
  std::string ReadPage() const {
    std::ifstream file(folder_.Path("page.md"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const TestFolder folder_;
  const std::string good_ =
      "job: demo\n"
      "data: {format: synthetic, synthetic: {train_rows: 2000, eval_rows: 100}}\n"
      "model: {preset: lr}\n";
};

TEST_F(ConfigCommandTest, AJobThatIsWellIsDescribed) {
  const CommandResult result = Check(good_);
  EXPECT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("tasks"), HasSubstr("\nwarning: ")));
  EXPECT_EQ(result.errors, "");
}

TEST_F(ConfigCommandTest, ASettingOfTheCommandTakesThePlaceOfTheFiles) {
  EXPECT_THAT(Check(good_).output, HasSubstr("warning: no checkpoint.uri: "));
  EXPECT_THAT(Check(good_, {"--set", "checkpoint.uri=" + folder_.Path("models")}).output,
              Not(HasSubstr("no checkpoint.uri")));
  const CommandResult wrong = Check(good_, {"--set", "train.batch_size=none"});
  EXPECT_EQ(wrong.exit_code, kBadInput);
  EXPECT_THAT(wrong.errors, HasSubstr("train.batch_size"));
}

TEST_F(ConfigCommandTest, EachMistakeHasALineThatAnEditorUnderstands) {
  const CommandResult result = Check(good_ + "train: {batch_size: none, clap: 1}\n");
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, AllOf(StartsWith(folder_.Path("job.yaml") + ":4: "),
                                   HasSubstr("batch_size"), HasSubstr("clap")));
  EXPECT_THAT(result.errors, Not(HasSubstr("capstan: "))) << "an editor takes no prefix";
}

TEST_F(ConfigCommandTest, DataThatCannotBeReadAreRefusedAsTheChiefWould) {
  const CommandResult result = Check(
      "job: demo\n"
      "data: {format: csv, train: " +
      folder_.Path("none.csv") +
      ", schema: {label: 0, numeric: \"1\"}}\n"
      "model: {preset: lr}\n");
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_THAT(result.errors, HasSubstr("none.csv"));
}

TEST_F(ConfigCommandTest, AFileThatIsNotThereIsRefused) {
  const CommandResult result = RunCommand(AddConfig, {"config", "check", folder_.Path("absent")});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_THAT(result.errors, HasSubstr("absent"));
}

TEST_F(ConfigCommandTest, AKeyIsListedWithItsMeaningAndAllOfThemWithout) {
  EXPECT_EQ(RunCommand(AddConfig, {"config", "keys", "train.clip_norm"}).output,
            "train.clip_norm  a number, above 0\n"
            "    Bound of the norm of a worker's whole gradient.\n");
  const CommandResult all = RunCommand(AddConfig, {"config", "keys"});
  EXPECT_EQ(all.exit_code, kDone);
  EXPECT_THAT(all.output, AllOf(HasSubstr("\ntrain.clip_norm  a number, above 0\n"),
                                HasSubstr("; required\n"), HasSubstr("; default ")));
  EXPECT_THAT(all.output, Not(HasSubstr("Bound of the norm")));
  const CommandResult none = RunCommand(AddConfig, {"config", "keys", "train.clap"});
  EXPECT_EQ(none.exit_code, kBadInput);
  EXPECT_EQ(none.errors,
            "capstan: no key begins with train.clap; `capstan config keys` lists them all\n");
}

TEST_F(ConfigCommandTest, APageWithoutThePlacesOfTheTablesStaysAsItIs) {
  const std::string page = folder_.Write("page.md", "# Keys\n");
  const CommandResult result = RunCommand(AddConfig, {"config", "keys", "--page", page});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_THAT(result.errors, StartsWith("capstan: " + page + ": expected one line <!-- keys: "));
  EXPECT_EQ(ReadPage(), "# Keys\n");
  EXPECT_EQ(RunCommand(AddConfig, {"config", "keys", "--page", folder_.Path("absent.md")}).errors,
            "capstan: " + folder_.Path("absent.md") + ": no such file\n");
}

TEST_F(ConfigCommandTest, WhatCannotBeMeantIsRefusedBeforeAnythingIsRead) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"config"},
                                             {"config", "check"},
                                             {"config", "check", "job.yaml", "--shards", "0"},
                                             {"config", "check", "job.yaml", "--workers", "1001"},
                                             {"config", "keys", "train", "--page", "page.md"}}) {
    EXPECT_EQ(RunCommand(AddConfig, words).exit_code, kBadInput) << words.back();
  }
}

}  // namespace
}  // namespace capstan::cli
