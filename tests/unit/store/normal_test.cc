// Quantiles of the normal distribution, against those of tables.
#include "capstan/store/normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace capstan {
namespace {

TEST(NormalQuantileTest, IsThatOfTheTables) {
  for (const auto& [p, x] : {std::pair(0.5, 0.0), std::pair(0.841344746068543, 1.0),
                             std::pair(0.9, 1.2815515655), std::pair(0.95, 1.6448536270),
                             std::pair(0.975, 1.9599639845), std::pair(0.99, 2.3263478740),
                             std::pair(0.999, 3.0902323062), std::pair(0.9999, 3.7190164855)}) {
    EXPECT_NEAR(NormalQuantile(p), x, 2e-6) << p;
    EXPECT_NEAR(NormalQuantile(1 - p), -x, 2e-6) << 1 - p;
  }
}

TEST(NormalQuantileTest, AgreesWithTheDistributionFunction) {
  for (double x = -6; x <= 6; x += 0.01) {
    const double p = 0.5 * std::erfc(-x / std::sqrt(2));
    if (p < 0.5) {
      ASSERT_NEAR(NormalQuantile(p), x, 2e-6) << p;
    } else {
      ASSERT_NEAR(NormalQuantile(p), x, 2e-6 + 1e-16 / (1 - p + 1e-300)) << p;
    }
  }
}

TEST(NormalQuantileTest, HoldsFarOutInTheTail) {
  EXPECT_NEAR(NormalQuantile(1e-6), -4.7534243088, 2e-6);
  EXPECT_NEAR(NormalQuantile(1e-9), -5.9978070150, 2e-6);
}

TEST(NormalQuantileTest, AscendsAcrossTheBordersOfItsThreeFormulas) {
  double before = NormalQuantile(1e-12);
  for (const double p : {1.38e-11, 1.39e-11, 0.07499, 0.07501, 0.92499, 0.92501}) {
    const double x = NormalQuantile(p);
    EXPECT_GT(x, before) << p;
    before = x;
  }
}

TEST(NormalQuantileTest, BeyondItsLimitsItIsThatOfTheLimit) {
  const double lowest = NormalQuantile(0x1p-54);
  EXPECT_NEAR(lowest, -8.2924, 1e-3);
  for (const double p : {0x1p-60, 0.0, -1.0}) EXPECT_EQ(NormalQuantile(p), lowest) << p;
  for (const double p : {1.0, 2.0}) EXPECT_EQ(NormalQuantile(p), -lowest) << p;
}

}  // namespace
}  // namespace capstan
