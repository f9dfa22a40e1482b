#include "capstan/store/touch_clock.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan {
namespace {

TEST(TouchClockTest, AShortExpiryIsExactAndALongOneHasHalfAMillionStepsAtTheLeast) {
  EXPECT_EQ(TouchClock(1000).expiry(), 1000u);
  for (const uint64_t examples : {uint64_t{1} << 20, uint64_t{3} << 30, uint64_t{1} << 60}) {
    const TouchClock clock(examples);
    EXPECT_GE(clock.expiry(), uint64_t{1} << 19) << examples;
    EXPECT_LT(clock.expiry(), uint64_t{1} << 20) << examples;
    EXPECT_EQ(clock.ExamplesAt(clock.TimeAt(examples)), examples);
  }
}

TEST(TouchClockTest, ItsBaseMovesUpBeforeTheTimeIsTheLastOneAndTimesKeepTheirDistance) {
  TouchClock clock(1000);
  const uint64_t examples = (uint64_t{1} << 31) + (uint64_t{1} << 30);
  EXPECT_EQ(clock.Advance(examples - 1), 0u);
  const uint32_t before = clock.TimeAt(examples - 500);
  const uint64_t moved = clock.Advance(examples);
  EXPECT_EQ(moved, uint64_t{1} << 31);
  EXPECT_EQ(clock.ExamplesAt(static_cast<uint32_t>(before - moved)), examples - 500);
  EXPECT_EQ(clock.TimeAt(examples) - (before - moved), 500u);
  EXPECT_EQ(clock.TimeAt(5), 0u) << "as old as the base, or older";
}

TEST(TouchClockTest, AnyProgressTakesOneStep) {
  TouchClock clock(1000);
  const uint64_t examples = ~uint64_t{0};
  EXPECT_GT(clock.Advance(examples), 0u);
  EXPECT_EQ(clock.Advance(examples), 0u);
  EXPECT_LT(clock.TimeAt(examples), UINT32_MAX);
  EXPECT_EQ(clock.Advance(7), 0u) << "of a progress that lies behind";
  clock.Restart();
  EXPECT_EQ(clock.TimeAt(7), 7u);
}

TEST(TouchClockTest, WithoutExpiryNothingMoves) {
  TouchClock clock(0);
  EXPECT_EQ(clock.Advance(~uint64_t{0}), 0u);
  EXPECT_EQ(clock.TimeAt(~uint64_t{0}), UINT32_MAX);
}

}  // namespace
}  // namespace capstan
