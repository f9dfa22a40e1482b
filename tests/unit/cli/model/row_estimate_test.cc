#include "cli/model/row_estimate.h"

#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

TEST(ExpectedRowsTest, OfDataThatWereReadWholeIsWhatTheyHold) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 40, .rows_of_half = 30}, 100), 40u);
}

TEST(ExpectedRowsTest, OfAVocabularyThatIsKnownIsItsSize) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 40, .rows_of_half = 40}, 1000000), 40u);
}

TEST(ExpectedRowsTest, WhereEveryKeyIsNewGrowsAsTheRecordsDo) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 400, .rows_of_half = 200}, 1000), 4000u);
}

TEST(ExpectedRowsTest, WhereHalfOfTheNewKeysAreKnownGrowsWithTheSquareRoot) {
  const RowCount count{.records = 100, .rows = 141421, .rows_of_half = 100000};
  EXPECT_NEAR(static_cast<double>(ExpectedRows(count, 10000)), 1414210, 1500);
}

}  // namespace
}  // namespace capstan::cli
