#include "capstan/data/synthetic/click_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

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
