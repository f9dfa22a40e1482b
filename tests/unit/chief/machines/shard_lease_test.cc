#include "chief/machines/shard_lease.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

constexpr absl::Time kLeaseStart = absl::UnixEpoch();

TEST(ShardLeaseTest, ALeaseIsOverALittleLaterThanTheShardBelieves) {
  ShardLease leases(absl::Seconds(10));
  EXPECT_EQ(leases.Grant(7, kLeaseStart, kLeaseStart), 10);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(10)));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart + absl::Seconds(10.3)));
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + leases.patience() - absl::Milliseconds(1)));
}

TEST(ShardLeaseTest, EachHeartbeatBringsANewLease) {
  ShardLease leases(absl::Seconds(10));
  (void)leases.Grant(7, kLeaseStart, kLeaseStart);
  const absl::Time later = kLeaseStart + absl::Seconds(9);
  (void)leases.Grant(7, later, later);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(15)));
}

TEST(ShardLeaseTest, WhileTheStoreIsAwayForAWhileLeasesAreGrantedAsEverAndThenWhatIsLeftOfTheTerm) {
  ShardLease leases(absl::Seconds(3));
  const auto after = [&leases](double seconds) {
    return leases.Grant(7, kLeaseStart, kLeaseStart + absl::Seconds(seconds));
  };
  EXPECT_EQ(after(10), 3);
  EXPECT_EQ(after(12.5), 0.5);
  EXPECT_EQ(after(13), 0) << "another chief may have claimed the job that long ago";
  EXPECT_EQ(leases.Grant(7, absl::InfinitePast(), kLeaseStart), 0) << "it never stood";
}

TEST(ShardLeaseTest, WhatASupersededChiefGrantsEndsBeforeTheNextOneTakesItForOver) {
  const absl::Time claimed = kLeaseStart + absl::Seconds(1);
  ShardLease next(absl::Seconds(10));
  next.Inherit(claimed);
  ShardLease superseded(absl::Seconds(10));
  for (absl::Time now = kLeaseStart; now < claimed + absl::Minutes(1); now += absl::Seconds(1)) {
    const absl::Time end = now + absl::Seconds(superseded.Grant(7, kLeaseStart, now));
    EXPECT_TRUE(end <= now || !next.IsOver(7, end));
  }
}

TEST(ShardLeaseTest,
     AShardThatGoesBackToTheSupersededChiefIsWaitedForThoughTheNextOneHasHeardOfIt) {
  ShardLease superseded(absl::Seconds(10));
  ShardLease next(absl::Seconds(10));
  next.Inherit(kLeaseStart);
  (void)next.Grant(7, kLeaseStart, kLeaseStart + absl::Seconds(1));
  const absl::Time back = kLeaseStart + absl::Seconds(8);
  const absl::Time end = back + absl::Seconds(superseded.Grant(7, kLeaseStart, back));
  EXPECT_EQ(end, kLeaseStart + absl::Seconds(18));
  EXPECT_FALSE(next.IsOver(7, end));
  EXPECT_TRUE(next.IsOver(7, kLeaseStart + absl::Seconds(21)));
}

TEST(ShardLeaseTest, WhoeverWasGrantedNothingHasNoLease) {
  ShardLease leases(absl::Seconds(10));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
}

TEST(ShardLeaseTest, OfAProcessThatHasEndedNobodyWaitsForTheLease) {
  ShardLease leases(absl::Seconds(10));
  (void)leases.Grant(7, kLeaseStart, kLeaseStart);
  (void)leases.Grant(8, kLeaseStart, kLeaseStart);
  leases.Forget(7);
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
  EXPECT_FALSE(leases.IsOver(8, kLeaseStart));
}

TEST(ShardLeaseTest, WhatAPredecessorMayHaveGrantedIsWaitedOut) {
  ShardLease leases(absl::Seconds(10));
  leases.Inherit(kLeaseStart);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(20)));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart + absl::Seconds(21)));
}

TEST(ShardLeaseTest, AProcessThatHasEndedIsNotWaitedForThoughAPredecessorMayHaveGrantedItALease) {
  ShardLease leases(absl::Seconds(10));
  leases.Inherit(kLeaseStart);
  leases.Forget(7);
  (void)leases.Grant(8, kLeaseStart, kLeaseStart);
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
  EXPECT_FALSE(leases.IsOver(8, kLeaseStart + absl::Seconds(20)));
}

TEST(ShardLeaseTest, WhatAProcessHasAskedForBeforeItHasLoadedIsWaitedOut) {
  ShardLease leases(absl::Seconds(10));
  leases.Await(7, kLeaseStart);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(10)));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart + leases.patience()));
}

TEST(ShardLeaseTest, WithoutReplicasNothingIsGranted) {
  ShardLease leases(absl::ZeroDuration());
  leases.Inherit(kLeaseStart);
  leases.Await(7, kLeaseStart);
  EXPECT_EQ(leases.Grant(7, kLeaseStart, kLeaseStart), 0);
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
}

}  // namespace
}  // namespace capstan::chief
