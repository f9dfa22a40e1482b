#include "capstan/rpc/peer_rate.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST(PeerRateTest, APeerMayDoItSoOftenAtOnceAndThenOnceInEveryInterval) {
  PeerRate rate(/*burst=*/2, /*interval=*/absl::Seconds(1));
  EXPECT_TRUE(rate.Takes("a", kStart));
  EXPECT_TRUE(rate.Takes("a", kStart));
  EXPECT_FALSE(rate.Takes("a", kStart));
  EXPECT_FALSE(rate.Takes("a", kStart + absl::Milliseconds(900)));
  EXPECT_TRUE(rate.Takes("a", kStart + absl::Milliseconds(1000)));
  EXPECT_FALSE(rate.Takes("a", kStart + absl::Milliseconds(1000)));
}

TEST(PeerRateTest, WhoAsksWhetherItMayTakesNothing) {
  PeerRate rate(/*burst=*/1, /*interval=*/absl::Seconds(1));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(rate.Has("a", kStart));
  EXPECT_TRUE(rate.Takes("a", kStart));
  EXPECT_FALSE(rate.Has("a", kStart));
  EXPECT_TRUE(rate.Has("a", kStart + absl::Seconds(1)));
}

TEST(PeerRateTest, OnePeerCostsAnotherNothing) {
  PeerRate rate(/*burst=*/1, /*interval=*/absl::Seconds(1));
  for (int i = 0; i < 100; ++i) rate.Takes("a", kStart);
  EXPECT_TRUE(rate.Takes("b", kStart));
}

}  // namespace
}  // namespace capstan
