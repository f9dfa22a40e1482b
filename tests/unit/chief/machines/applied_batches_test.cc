#include "chief/machines/applied_batches.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace capstan::chief {
namespace {

constexpr uint32_t kPartitions = 4;
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

// A job with a tensor and a table, and two shards with two partitions each, which have not been
// heard of yet.
class AppliedBatchesTest : public testing::Test {
 protected:
  AppliedBatchesTest() {
    spec_.set_partition_count(kPartitions);
    spec_.add_tensors()->set_name("w");
    spec_.add_tables()->set_name("features");
    for (v1::UpdatePolicy* policy : {spec_.mutable_dense_update(), spec_.mutable_sparse_update()}) {
      policy->set_kind(v1::POLICY_KIND_ASYNC);
    }
    Register(0, /*incarnation=*/100);
    Register(1, /*incarnation=*/101);
    for (const uint32_t owner : {0, 0, 1, 1}) view_.add_owners(owner);
  }

  void Register(uint32_t index, uint64_t incarnation) {
    v1::RegisterShardRequest request;
    request.set_index(index);
    request.set_address("ps:7000");
    request.set_incarnation(incarnation);
    ASSERT_TRUE(shards_.Register(request, absl::UnixEpoch()).ok());
  }

  // The shard's heartbeat says so.
  void Hear(uint32_t index, uint64_t version, uint64_t lost = 0) {
    v1::ShardHeartbeatRequest heartbeat;
    heartbeat.mutable_report()->set_version(version);
    heartbeat.mutable_report()->set_batches_lost(lost);
    ShardTable::Hear(*shards_.Find(index), heartbeat, absl::UnixEpoch());
  }

  // The shard's heartbeat says that its partitions have counted so many batches.
  void Count(uint32_t index, const std::map<uint32_t, uint64_t>& batches, uint64_t lost = 0) {
    v1::ShardHeartbeatRequest heartbeat;
    heartbeat.mutable_report()->set_version(kHuge);
    heartbeat.mutable_report()->set_batches_lost(lost);
    for (const auto& [partition, counted] : batches) {
      v1::PartitionLoad& load = *heartbeat.mutable_report()->add_partitions();
      load.set_partition(partition);
      load.set_batches(counted);
    }
    ShardTable::Hear(*shards_.Find(index), heartbeat, absl::UnixEpoch());
  }

  std::optional<uint64_t> Most() const { return MostBatchesApplied(spec_, shards_, view_); }

  v1::JobSpec spec_;
  v1::View view_;
  ShardTable shards_{2, kPartitions};
};

TEST_F(AppliedBatchesTest, EachBatchUpdatesATensorsPartitionOnce) {
  EXPECT_EQ(Most(), 0u);
  Hear(0, 3);
  Hear(1, 5);
  EXPECT_EQ(Most(), 5u);
}

TEST_F(AppliedBatchesTest, BatchesOfTablesAloneAreSummedAsTheOwnersOfPartitionsCountThem) {
  spec_.clear_tensors();
  EXPECT_EQ(Most(), 0u);
  Count(0, {{0, 70}, {1, 5}});
  EXPECT_EQ(Most(), 75u) << "the other shard has not been heard of";
  Count(1, {{2, 1}, {3, 0}});
  EXPECT_EQ(Most(), 76u);
  spec_.mutable_sparse_update()->set_aggregate(16);
  EXPECT_EQ(Most(), 76u) << "gradients that wait are counted, and updates are not";
  Count(1, {{2, 1}, {3, 0}}, /*lost=*/4);
  EXPECT_EQ(Most(), 80u);
}

TEST_F(AppliedBatchesTest, WhatAPartitionHasCountedIsSummedOnceWhileItChangesItsOwner) {
  spec_.clear_tensors();
  Count(0, {{0, 70}, {1, 5}});
  Count(1, {{2, 1}, {3, 0}});
  view_.set_owners(0, 1);
  EXPECT_EQ(Most(), 6u) << "the new owner has not told of it yet";
  Count(1, {{0, 71}, {2, 1}, {3, 0}});
  EXPECT_EQ(Most(), 77u);
  Count(0, {{1, 5}, {1000, 900}});
  EXPECT_EQ(Most(), 77u) << "there is no such partition";
}

TEST_F(AppliedBatchesTest, WhileAShardDoesNotCountBatchesEachMayHaveComeToAnotherPartition) {
  Hear(0, 3);
  Hear(1, 5);
  spec_.mutable_tensors(0)->set_role(v1::TENSOR_ROLE_FROZEN);
  EXPECT_EQ(Most(), 5 * kPartitions) << "of a tensor that never changes nothing is pushed";
  spec_.clear_tensors();
  EXPECT_EQ(Most(), 5 * kPartitions);
  Count(0, {{0, 1}, {1, 0}});
  EXPECT_GE(Most(), uint64_t{1} << 50) << "the other one is still of an earlier release";
  Count(1, {{2, 1}, {3, 0}});
  EXPECT_EQ(Most(), 2u);
}

TEST_F(AppliedBatchesTest, AnUpdateMayBeMadeOfManyBatchesAndSomeMayWaitForOthers) {
  Hear(0, 3);
  spec_.mutable_dense_update()->set_aggregate(16);
  EXPECT_EQ(Most(), (3 + 2) * 16u);
  spec_.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  EXPECT_EQ(Most(), 3u) << "no queue gathers gradients there";
}

TEST_F(AppliedBatchesTest, WhatAPartitionHasLostItHadBeforeItWentBackAlone) {
  Hear(0, 3, /*lost=*/4);
  Hear(1, 5);
  EXPECT_EQ(Most(), 7u);
}

TEST_F(AppliedBatchesTest, AnotherProcessTellsOfThePartitionsThatItHasLoaded) {
  Hear(0, 5);
  Register(0, /*incarnation=*/200);
  EXPECT_EQ(Most(), 0u);
  Hear(0, 4);
  EXPECT_EQ(Most(), 4u);
  shards_.Forget(0);
  Hear(1, 4);  // It has got the partitions, which have their counts with them.
  EXPECT_EQ(Most(), 4u);
}

TEST_F(AppliedBatchesTest, WhereStaleGradientsAreDroppedNothingIsKnown) {
  Hear(0, 3);
  spec_.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  EXPECT_EQ(Most(), 3u) << "those of the tensor are not";
  spec_.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  EXPECT_EQ(Most(), std::nullopt);
}

TEST_F(AppliedBatchesTest, HugeCountsStayHuge) {
  Hear(0, kHuge, kHuge);
  EXPECT_GE(Most(), uint64_t{1} << 50);
  spec_.mutable_dense_update()->set_aggregate(std::numeric_limits<uint32_t>::max());
  EXPECT_GE(Most(), uint64_t{1} << 50);
  spec_.clear_tensors();
  spec_.set_partition_count(1 << 16);
  EXPECT_GE(Most(), uint64_t{1} << 50);
  Count(0, {{0, kHuge}, {1, kHuge}}, kHuge);
  EXPECT_GE(Most(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace capstan::chief
