// The click log as a csv file.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "capstan/data/synthetic/click_log.h"
#include "tests/lib/source_folder.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr uint64_t kGoldenRows = 100;

std::string Golden(const std::string& name) {
  return ReadFile(SourceFolder() + "/tests/golden/data/" + name);
}

TEST(WriteClickLogTest, WritesTheBytesOfTheDefinition) {
  TestFolder folder;
  const ClickLog log({});
  ASSERT_TRUE(WriteClickLog(log, 0, kGoldenRows, folder.Path("train.csv")).ok());
  EXPECT_EQ(ReadFile(folder.Path("train.csv")), Golden("click_log_train.csv"));
  ASSERT_TRUE(WriteClickLog(log, kClickLogEvalBase, kGoldenRows, folder.Path("eval.csv")).ok());
  EXPECT_EQ(ReadFile(folder.Path("eval.csv")), Golden("click_log_eval.csv"));
}

TEST(WriteClickLogTest, SaysWhereItCannotWrite) {
  const auto result = WriteClickLog(ClickLog({}), 0, 1, "/nonexistent/folder/a.csv");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
}

TEST(WriteClickLogTest, AFullDiskIsToldHoweverFewRowsThereAre) {
  for (const uint64_t rows : {1, 5000}) {
    const auto result = WriteClickLog(ClickLog({}), 0, rows, "/dev/full");
    EXPECT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
  }
}

TEST(WriteClickLogTest, AnExistingFileIsReplacedAndNoRowsAreAnEmptyOne) {
  const TestFolder folder;
  const ClickLog log({});
  const std::string path = folder.Path("a.csv");
  ASSERT_TRUE(WriteClickLog(log, 0, kGoldenRows, path).ok());
  ASSERT_TRUE(WriteClickLog(log, 0, 1, path).ok());
  const std::string golden = Golden("click_log_train.csv");
  EXPECT_EQ(ReadFile(path), golden.substr(0, golden.find('\n') + 1));
  const auto none = WriteClickLog(log, 0, 0, path);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->rows, 0u);
  EXPECT_EQ(ReadFile(path), "");
}

TEST(WriteClickLogTest, RowsAreTheSameHoweverManyAreWrittenAtOnce) {
  const TestFolder folder;
  v1::SyntheticSpec spec;
  for (const uint32_t size : {5000, 1}) spec.add_vocabulary(size);
  const ClickLog log(spec);
  const std::string path = folder.Path("a.csv");
  const auto whole = WriteClickLog(log, 7, 10'000, path);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::string text = ReadFile(path);
  ASSERT_TRUE(WriteClickLog(log, 7, 4096, path).ok());
  std::string parts = ReadFile(path);
  ASSERT_TRUE(WriteClickLog(log, 7 + 4096, 10'000 - 4096, path).ok());
  parts += ReadFile(path);
  EXPECT_TRUE(parts == text);
  const Oracle best = BestPossible(log, 7, 10'000);
  EXPECT_EQ(whole->rows, best.rows);
  EXPECT_EQ(whole->auc, best.auc);
  EXPECT_EQ(whole->logloss, best.logloss);
}

}  // namespace
}  // namespace capstan
