#include "chief/state/shard_table.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

const absl::Time kNow = absl::UnixEpoch();

v1::RegisterShardRequest Registration(uint32_t index, uint64_t incarnation) {
  v1::RegisterShardRequest request;
  request.set_index(index);
  request.set_address("ps:7000");
  request.set_incarnation(incarnation);
  return request;
}

TEST(ShardTableTest, MergesTheStalenessOfAllShards) {
  ShardTable table(2);
  for (uint32_t index : {0u, 1u}) {
    ASSERT_TRUE(table.Register(Registration(index, index + 1), kNow).ok());
    v1::ShardHeartbeatRequest heartbeat;
    // Shard 0: ten of 0. Shard 1: eleven of 4 or 5.
    for (uint64_t count : {index == 0 ? 10 : 0, 0, 0, 0, index == 0 ? 0 : 11}) {
      heartbeat.mutable_report()->add_staleness_counts(count);
    }
    heartbeat.mutable_report()->set_max_staleness(index == 0 ? 0 : 5);
    ShardTable::Hear(*table.Find(index, Incarnation{index + 1}), heartbeat, kNow);
  }
  EXPECT_EQ(table.StalenessMedian(), 4u);
  EXPECT_EQ(table.StalenessMax(), 5u);
}

TEST(ShardTableTest, RefusesAnIndexBeyondTheQuorumAndRegistrationsWithoutAnIdentity) {
  ShardTable table(2);
  EXPECT_EQ(table.Register(Registration(2, 1), kNow).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table.Register(Registration(0, 0), kNow).status().code(),
            absl::StatusCode::kInvalidArgument);
  v1::RegisterShardRequest homeless = Registration(0, 1);
  homeless.clear_address();
  EXPECT_EQ(table.Register(homeless, kNow).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShardTableTest, TellsARepeatedRegistrationFromANewProcess) {
  ShardTable table(1);
  EXPECT_EQ(*table.Register(Registration(0, 7), kNow), ShardTable::Arrival::kNew);
  EXPECT_EQ(*table.Register(Registration(0, 7), kNow), ShardTable::Arrival::kSame);
  EXPECT_EQ(*table.Register(Registration(0, 8), kNow), ShardTable::Arrival::kReplaced);
  EXPECT_EQ(table.Find(0, Incarnation{7}), nullptr);
}

}  // namespace
}  // namespace capstan::chief
