#include "ps/process/shard_heartbeat.h"

#include <gtest/gtest.h>

#include <limits>

namespace capstan::ps {
namespace {

v1::JobSpec JobOf(double heartbeat, double lease, uint32_t replicas) {
  v1::JobSpec job;
  job.mutable_lease()->set_heartbeat_seconds(heartbeat);
  job.mutable_lease()->set_shard_lease_seconds(lease);
  job.set_replicas(replicas);
  return job;
}

TEST(ShardHeartbeatTest, IsThatOfTheJobAndWithReplicasAtMostAQuarterOfTheLease) {
  EXPECT_EQ(HeartbeatOf(JobOf(2, 4, 0)), absl::Seconds(2));
  EXPECT_EQ(HeartbeatOf(JobOf(2, 4, 1)), absl::Seconds(1));
  EXPECT_EQ(HeartbeatOf(JobOf(0.5, 4, 1)), absl::Milliseconds(500));
}

TEST(ShardHeartbeatTest, WhateverTheChiefSaysAShardNeitherFloodsItNorFallsSilent) {
  EXPECT_EQ(HeartbeatOf(JobOf(0, 4, 0)), kShortestBeat);
  EXPECT_EQ(HeartbeatOf(JobOf(2, -1, 1)), kShortestBeat);
  EXPECT_EQ(HeartbeatOf(JobOf(1e9, 4, 0)), kLongestBeat);
  EXPECT_EQ(HeartbeatOf(JobOf(std::numeric_limits<double>::quiet_NaN(), 4, 0)), kShortestBeat);
}

}  // namespace
}  // namespace capstan::ps
