#include "ps/partition/version_times.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

class VersionTimesTest : public testing::Test {
 protected:
  // These versions were made, one a second.
  void Make(uint64_t first, uint64_t last) {
    for (uint64_t version = first; version <= last; ++version) times_.Made(version, At(version));
  }
  static absl::Time At(uint64_t version) {
    return absl::UnixEpoch() + absl::Hours(1) + absl::Seconds(static_cast<int64_t>(version));
  }

  VersionTimes times_;
};

TEST_F(VersionTimesTest, AVersionIsAsOldAsTheOneThatHasReplacedIt) {
  Make(1, 10);
  EXPECT_EQ(times_.Age(/*pulled=*/7, /*version=*/10, At(10)), absl::Seconds(2));
  EXPECT_EQ(times_.Age(/*pulled=*/10, /*version=*/10, At(20)), absl::ZeroDuration());
}

TEST_F(VersionTimesTest, WhatIsFurtherBackThanIsKeptCountsAsTheOldestKnown) {
  Make(1, 100);
  EXPECT_EQ(times_.Age(/*pulled=*/3, /*version=*/100, At(100)), absl::Seconds(31));
}

TEST_F(VersionTimesTest, WhatWasReplacedBeforeThePartCameHereCountsAsTheFirstThatWasMadeHere) {
  EXPECT_EQ(times_.Age(/*pulled=*/95, /*version=*/100, At(100)), absl::ZeroDuration())
      << "nothing is known of any";
  Make(101, 103);
  EXPECT_EQ(times_.Age(/*pulled=*/95, /*version=*/103, At(103)), absl::Seconds(2));
}

}  // namespace
}  // namespace capstan::ps
