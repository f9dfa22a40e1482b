#include "cli/local/restarts.h"

#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

TEST(RestartsTest, WaitsTwiceAsLongAfterEachQuickDeath) {
  Restarts restarts;
  EXPECT_EQ(restarts.OnDeath(absl::Seconds(1)), absl::Milliseconds(200));
  EXPECT_EQ(restarts.OnDeath(absl::Seconds(1)), absl::Milliseconds(400));
  EXPECT_EQ(restarts.OnDeath(absl::Seconds(1)), absl::Milliseconds(800));
}

TEST(RestartsTest, GivesUpAfterFiveInARow) {
  Restarts restarts;
  for (int i = 0; i < Restarts::kMaxInARow; ++i) {
    ASSERT_TRUE(restarts.OnDeath(absl::Seconds(1)).has_value());
  }
  EXPECT_FALSE(restarts.OnDeath(absl::Seconds(1)).has_value());
}

TEST(RestartsTest, ForgivesWhoHasLivedForAMinute) {
  Restarts restarts;
  for (int i = 0; i < Restarts::kMaxInARow; ++i) restarts.OnDeath(absl::Seconds(1));
  EXPECT_EQ(restarts.OnDeath(absl::Minutes(1)), Restarts::kFirstDelay);
}

}  // namespace
}  // namespace capstan::cli
