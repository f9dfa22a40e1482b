#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "capstan/data/synthetic/click_log.h"

namespace capstan {
namespace {

TEST(OracleSumsTest, WithoutRowsThereIsNothingToTell) {
  const Oracle oracle = OracleSums().Finish();
  EXPECT_EQ(oracle.rows, 0u);
  EXPECT_EQ(oracle.auc, 0);
  EXPECT_EQ(oracle.logloss, 0);
}

TEST(OracleSumsTest, WhereAllAreClicksNoneIsRankedBeforeAnother) {
  for (const bool click : {false, true}) {
    OracleSums sums;
    sums.Add(1, click);
    sums.Add(2, click);
    const Oracle oracle = std::move(sums).Finish();
    EXPECT_EQ(oracle.rows, 2u);
    EXPECT_EQ(oracle.click_rate, click ? 1 : 0);
    EXPECT_EQ(oracle.auc, 0.5);
  }
}

TEST(OracleSumsTest, TheOrderOfTheRowsDoesNotCount) {
  OracleSums sums;
  for (const double logit : {3.0, -1.0, 2.0}) sums.Add(logit, true);
  for (const double logit : {2.5, -2.0}) sums.Add(logit, false);
  // Of six pairs of a click and no click those of 3 and of -2 are in order, and no others: 3 > 2.5,
  // and 3, 2 and -1 > -2.
  EXPECT_DOUBLE_EQ(std::move(sums).Finish().auc, 4.0 / 6);
}

TEST(OracleSumsTest, TheLossOfLogitsFarFromZeroIsTheirDistance) {
  OracleSums sums;
  sums.Add(1000, false);
  sums.Add(-1000, true);
  sums.Add(1000, true);
  sums.Add(0, true);
  EXPECT_DOUBLE_EQ(std::move(sums).Finish().logloss, (2000 + std::log(2.0)) / 4);
}

}  // namespace
}  // namespace capstan
