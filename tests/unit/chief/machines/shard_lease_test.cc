#include "chief/machines/shard_lease.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

constexpr absl::Time kLeaseStart = absl::UnixEpoch();

TEST(ShardLeaseTest, ALeaseIsOverALittleLaterThanTheShardBelieves) {
  ShardLease leases(absl::Seconds(10));
  EXPECT_EQ(leases.Grant(7, kLeaseStart), 10);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(10)));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart + absl::Seconds(10.3)));
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + leases.patience() - absl::Milliseconds(1)));
}

TEST(ShardLeaseTest, EachHeartbeatBringsANewLease) {
  ShardLease leases(absl::Seconds(10));
  (void)leases.Grant(7, kLeaseStart);
  (void)leases.Grant(7, kLeaseStart + absl::Seconds(9));
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(15)));
}

TEST(ShardLeaseTest, WhoeverWasGrantedNothingHasNoLease) {
  ShardLease leases(absl::Seconds(10));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
}

TEST(ShardLeaseTest, OfAProcessThatHasEndedNobodyWaitsForTheLease) {
  ShardLease leases(absl::Seconds(10));
  (void)leases.Grant(7, kLeaseStart);
  (void)leases.Grant(8, kLeaseStart);
  leases.Forget(7);
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
  EXPECT_FALSE(leases.IsOver(8, kLeaseStart));
}

TEST(ShardLeaseTest, WhatAPredecessorMayHaveGrantedIsWaitedOut) {
  v1::View view;
  view.add_shards()->set_incarnation(7);
  ShardLease leases(absl::Seconds(10));
  leases.Inherit(view, kLeaseStart);
  EXPECT_FALSE(leases.IsOver(7, kLeaseStart + absl::Seconds(10)));
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart + absl::Seconds(11)));
}

TEST(ShardLeaseTest, WithoutReplicasNothingIsGranted) {
  v1::View view;
  view.add_shards()->set_incarnation(7);
  ShardLease leases(absl::ZeroDuration());
  leases.Inherit(view, kLeaseStart);
  EXPECT_EQ(leases.Grant(7, kLeaseStart), 0);
  EXPECT_TRUE(leases.IsOver(7, kLeaseStart));
}

}  // namespace
}  // namespace capstan::chief
