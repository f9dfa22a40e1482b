#include "capstan/base/bounded_seconds.h"

#include <gtest/gtest.h>

#include <limits>

namespace capstan {
namespace {

using Limits = std::numeric_limits<double>;

constexpr absl::Duration kLow = absl::Milliseconds(10);
constexpr absl::Duration kHigh = absl::Seconds(60);

absl::Duration Bounded(double seconds) { return BoundedSeconds(seconds, kLow, kHigh); }

TEST(BoundedSecondsTest, WhatIsWithinTheBoundsStaysAsItIs) {
  EXPECT_EQ(Bounded(0.5), absl::Milliseconds(500));
  EXPECT_EQ(Bounded(0.01), kLow);
  EXPECT_EQ(Bounded(60), kHigh);
}

TEST(BoundedSecondsTest, WhatIsBeyondABoundIsThatBound) {
  EXPECT_EQ(Bounded(0), kLow);
  EXPECT_EQ(Bounded(-3), kLow);
  EXPECT_EQ(Bounded(Limits::lowest()), kLow);
  EXPECT_EQ(Bounded(-Limits::infinity()), kLow);
  EXPECT_EQ(Bounded(60.1), kHigh);
  EXPECT_EQ(Bounded(Limits::max()), kHigh);
  EXPECT_EQ(Bounded(Limits::infinity()), kHigh);
}

TEST(BoundedSecondsTest, WhatIsNoNumberIsTheLowerBound) {
  EXPECT_EQ(Bounded(Limits::quiet_NaN()), kLow);
  EXPECT_EQ(Bounded(-Limits::quiet_NaN()), kLow);
}

}  // namespace
}  // namespace capstan
