#include "capstan/data/synthetic/click_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/lib/source_folder.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr uint64_t kGoldenRows = 100;

std::string Golden(const std::string& name) {
  return ReadFile(SourceFolder() + "/tests/golden/data/" + name);
}

TEST(ClickLogTest, WritesTheBytesOfTheDefinition) {
  TestFolder folder;
  const ClickLog log({});
  ASSERT_TRUE(WriteClickLog(log, 0, kGoldenRows, folder.Path("train.csv")).ok());
  EXPECT_EQ(ReadFile(folder.Path("train.csv")), Golden("click_log_train.csv"));
  ASSERT_TRUE(WriteClickLog(log, kClickLogEvalBase, kGoldenRows, folder.Path("eval.csv")).ok());
  EXPECT_EQ(ReadFile(folder.Path("eval.csv")), Golden("click_log_eval.csv"));
}

TEST(ClickLogTest, ItsEvaluationRowsCanBePredictedThatWellAndNoBetter) {
  const Oracle best = BestPossible(ClickLog({}), kClickLogEvalBase, 100000);
  EXPECT_NEAR(best.click_rate, .2599, 5e-5);
  EXPECT_NEAR(best.auc, .8500, 5e-5);
  EXPECT_NEAR(best.logloss, .4036, 5e-5);
}

TEST(ClickLogTest, GeneratesARowTheSameWhereverARangeBegins) {
  v1::SyntheticSpec spec;
  for (uint32_t size : {7, 1, 300}) spec.add_vocabulary(size);
  const ClickLog log(spec);
  ClickLog::Rows all;
  ClickLog::Rows part;
  log.Generate(0, 3000, all);
  log.Generate(1500, 10, part);
  EXPECT_TRUE(std::equal(part.values.begin(), part.values.end(), all.values.begin() + 1500 * 3));
  EXPECT_TRUE(std::equal(part.logits.begin(), part.logits.end(), all.logits.begin() + 1500));
}

TEST(ClickLogTest, SaysWhereItCannotWrite) {
  const auto result = WriteClickLog(ClickLog({}), 0, 1, "/nonexistent/folder/a.csv");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
}

TEST(OracleSumsTest, CountsTiesHalf) {
  OracleSums sums;
  sums.Add(0, true);
  sums.Add(0, false);
  sums.Add(1, true);
  sums.Add(2, false);
  const Oracle oracle = std::move(sums).Finish();
  EXPECT_DOUBLE_EQ(oracle.auc, (0.5 + 1) / 4);
  const double expected =
      std::log(2) + std::log(2) + std::log1p(std::exp(-1)) + std::log1p(std::exp(2));
  EXPECT_NEAR(oracle.logloss, expected / 4, 1e-12);
}

}  // namespace
}  // namespace capstan
