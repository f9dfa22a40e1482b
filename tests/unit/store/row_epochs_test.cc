#include "capstan/store/row_epochs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace capstan {
namespace {

TEST(RowEpochsTest, ARowLapsesWithAllOfItsEpochAndNotBeforeItHasExpired) {
  constexpr uint32_t kExpiry = 100;
  std::mt19937 draw(3);
  for (int round = 0; round < 20; ++round) {
    RowEpochs epochs(kExpiry);
    std::vector<uint32_t> touched(50);
    for (uint32_t& row : touched) epochs.Add(row = draw() % 500);
    for (uint32_t& row : touched) {
      const uint32_t later = row + draw() % 300;
      epochs.Move(row, later);
      row = later;
    }
    for (uint32_t now = 0; now < 1000; now += 7) {
      size_t lapsed = 0;
      for (const uint32_t row : touched) {
        if (epochs.Lapsed(row, now)) ++lapsed;
        const bool expired = now > row + kExpiry;
        EXPECT_TRUE(expired || !epochs.Lapsed(row, now)) << row << " at " << now;
        const bool long_ago = now > row + kExpiry + kExpiry / 4;
        EXPECT_TRUE(!long_ago || epochs.Lapsed(row, now)) << row << " at " << now;
      }
      EXPECT_EQ(epochs.LapsedRows(now), lapsed);
    }
  }
}

TEST(RowEpochsTest, RowsThatAreTakenAwayCountNoLonger) {
  RowEpochs epochs(100);
  epochs.Add(1);
  epochs.Add(2);
  epochs.Remove(1);
  EXPECT_EQ(epochs.LapsedRows(1000), 1u);
}

TEST(RowEpochsTest, WithoutExpiryNothingLapses) {
  RowEpochs epochs(0);
  epochs.Add(1);
  EXPECT_FALSE(epochs.Lapsed(1, UINT32_MAX));
  EXPECT_EQ(epochs.LapsedRows(UINT32_MAX), 0u);
}

}  // namespace
}  // namespace capstan
