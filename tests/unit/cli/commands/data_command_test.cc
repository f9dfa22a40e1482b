// `capstan data generate` where what it writes to is odd. tests/cli/arguments_test.cc has the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/lib/test_folder.h"
#include "tests/unit/cli/commands/run_command.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CommandResult GenerateData(const std::string& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"data", "generate", folder, "--rows", "20", "--eval-rows", "5"};
  words.insert(words.end(), more.begin(), more.end());
  return RunCommand(AddData, words);
}

TEST(DataCommandTest, TellsAFolderWithoutObeyingItsName) {
  const TestFolder folder;
  const CommandResult result = GenerateData(folder.Path("a\x1b[2J"));
  EXPECT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(result.output, StartsWith(folder.Path("a?[2J/train.csv  20 rows, ")));
  EXPECT_THAT(result.output, HasSubstr("a?[2J/test.csv  5 rows, "));
  EXPECT_EQ(result.output.find('\x1b'), result.output.npos);
  EXPECT_TRUE(std::filesystem::exists(folder.Path("a\x1b[2J/train.csv")));
}

TEST(DataCommandTest, AFileInThePlaceOfTheFolderStays) {
  const TestFolder folder;
  const std::string file = folder.Write("file", "mine");
  for (const std::string& in : {file, file + "/below"}) {
    const CommandResult result = GenerateData(in);
    EXPECT_EQ(result.exit_code, kBadInput) << in;
    EXPECT_THAT(result.errors, StartsWith("capstan: " + in + ": "));
  }
  std::ifstream text(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), "mine");
}

TEST(DataCommandTest, ALinkThatLeadsNowhereIsInTheWayToo) {
  const TestFolder folder;
  std::filesystem::create_symlink("nowhere", folder.Path("test.csv"));
  const CommandResult result = GenerateData(folder.path());
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.errors,
            "capstan: " + folder.Path("test.csv") + ": is there already; --force overwrites it\n");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("train.csv"))) << "nothing is half made";
}

TEST(DataCommandTest, ASeedSaysWhichRowsThereAre) {
  const TestFolder folder;
  const auto rows = [&folder](const char* name, const char* seed) {
    EXPECT_EQ(GenerateData(folder.Path(name), {"--seed", seed}).exit_code, kDone);
    std::ifstream text(folder.Path(name) + "/train.csv");
    return std::string(std::istreambuf_iterator<char>(text), {});
  };
  const std::string first = rows("a", "1");
  EXPECT_EQ(rows("b", "1"), first);
  EXPECT_NE(rows("c", "18446744073709551615"), first);
  EXPECT_EQ(GenerateData(folder.Path("d"), {"--seed", "18446744073709551616"}).exit_code,
            kBadInput);
}

}  // namespace
}  // namespace capstan::cli
