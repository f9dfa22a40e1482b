#include "ps/shard/shard_accounts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/store/memory_limits.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

constexpr uint64_t kMuch = uint64_t{8} << 30;  // Bytes of memory.

v1::JobSpec AccountedJob(v1::PolicyKind policy, uint32_t backup_workers = 0) {
  v1::JobSpec job;
  job.set_job("accounts");
  job.set_partition_count(2);
  for (v1::UpdatePolicy* of : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    of->set_kind(policy);
    if (policy != v1::POLICY_KIND_SYNC) continue;
    of->set_lanes(4);
    of->set_backup_workers(backup_workers);
  }
  for (const char* name : {"a", "b"}) {  // One for each partition.
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(name);
    tensor.add_shape(100);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    tensor.mutable_optimizer()->set_learning_rate(1);
  }
  return job;
}

// A shard that owns partition 0, and may back up partition 1.
struct Accounted {
  explicit Accounted(const v1::JobSpec& job)
      : parts(Catalog::Create(job).value(), {ShardIndex{0}, Incarnation{7}}, metrics, clock) {
    partition(0).Load(Content(0));
  }
  PartitionContent Content(int index) {
    auto content =
        InitialContent(parts.catalog, static_cast<PartitionIndex>(index), Timeline{1}, parts.slabs);
    CAPSTAN_CHECK(content.ok());
    return *std::move(content);
  }
  Partition& partition(int index) { return parts.partitions[static_cast<PartitionIndex>(index)]; }
  uint64_t waiting_limit() const { return parts.memory.of(MemoryUse::kWaitingGradients).limit(); }

  const FakeClock clock;
  metrics::Registry registry;
  ShardMetrics metrics{registry};
  ShardParts parts;
  ShardAccounts accounts{parts};
};

TEST(ShardAccountsTest, WhatIsBackedUpIsApartFromWhatIsServedAndWhatIsEmptyIsNothing) {
  Accounted shard(AccountedJob(v1::POLICY_KIND_ASYNC));
  const ShardFacts alone = shard.accounts.Facts();
  EXPECT_EQ(alone.loads.size(), 1u);
  EXPECT_GT(alone.bytes, 0u);
  EXPECT_EQ(alone.backup_bytes, 0u);
  shard.partition(1).Adopt(shard.Content(1), /*pair=*/{1, 2});
  const ShardFacts both = shard.accounts.Facts();
  EXPECT_EQ(both.loads.size(), 1u) << "the chief is told the load of its owner";
  EXPECT_EQ(both.bytes, alone.bytes);
  EXPECT_GT(both.backup_bytes, 0u);
}

TEST(ShardAccountsTest, ClocksAreToldInJobsThatHaveThem) {
  EXPECT_FALSE(Accounted(AccountedJob(v1::POLICY_KIND_ASYNC)).accounts.Facts().clocks.has_value());
  EXPECT_TRUE(Accounted(AccountedJob(v1::POLICY_KIND_SSP)).accounts.Facts().clocks.has_value());
}

TEST(ShardAccountsTest, EachUseHasItsShareOfTheMemoryAndTellsWhatItHoldsAndHasRefused) {
  Accounted shard(AccountedJob(v1::POLICY_KIND_ASYNC));
  EXPECT_TRUE(shard.parts.memory.Reserve(MemoryUse::kReplies, kMuch).ok()) << "not limited yet";
  shard.accounts.SetMemory(kMuch);
  EXPECT_FALSE(shard.parts.memory.Reserve(MemoryUse::kReplies, kMuch).ok());
  const Reservation held = shard.parts.memory.Reserve(MemoryUse::kMoves, 1000).value();
  const ShardFacts facts = shard.accounts.Facts();
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    EXPECT_EQ(facts.memory[i].limit, MemoryLimit(use, kMuch)) << i;
    EXPECT_EQ(facts.memory[i].held, use == MemoryUse::kMoves ? 1000u : 0u) << i;
    EXPECT_EQ(facts.memory[i].refused, use == MemoryUse::kReplies ? 1u : 0u) << i;
  }
}

TEST(ShardAccountsTest, GradientsThatWaitForTheirTurnLeaveRoomForAllThatTheShardHolds) {
  Accounted shard(AccountedJob(v1::POLICY_KIND_SYNC));
  shard.accounts.SetMemory(kMuch);
  v1::ShardReport report;
  report.set_parameter_bytes(uint64_t{2} << 30);
  report.set_backup_bytes(uint64_t{1} << 30);
  shard.accounts.LimitWaiting(report);
  const uint64_t held = kShardProcessBytes + report.parameter_bytes() + report.backup_bytes() +
                        MostImages(report.parameter_bytes());
  EXPECT_EQ(shard.waiting_limit(), WaitingForTurnLimit(kMuch, held, /*copies=*/1));
  EXPECT_LT(shard.waiting_limit(), MemoryLimit(MemoryUse::kWaitingGradients, kMuch));
  report.set_parameter_bytes(uint64_t{64} << 30);  // More than there is.
  shard.accounts.LimitWaiting(report);
  EXPECT_EQ(shard.waiting_limit(), kMuch / 8) << "else lanes would wait for one another for ever";
  shard.accounts.LimitWaiting(v1::ShardReport());
  EXPECT_GT(shard.waiting_limit(), kMuch / 8) << "it has left them";
}

// With backup workers a gradient that is refused for want of room may never have a turn.
TEST(ShardAccountsTest, WhereRoundsNeedRoomForAllTheLimitStays) {
  Accounted shard(AccountedJob(v1::POLICY_KIND_SYNC, /*backup_workers=*/1));
  shard.accounts.SetMemory(kMuch);
  v1::ShardReport report;
  report.set_parameter_bytes(uint64_t{6} << 30);
  shard.accounts.LimitWaiting(report);
  EXPECT_EQ(shard.waiting_limit(), MemoryLimit(MemoryUse::kWaitingGradients, kMuch));
}

TEST(ShardAccountsTest, OnlyCopiesOfRoundsHaveALimitOfWhatTheyKeep) {
  Accounted asynchronous(AccountedJob(v1::POLICY_KIND_ASYNC));
  asynchronous.accounts.LimitKept();
  asynchronous.parts.kept.Add(int64_t{1} << 40);
  EXPECT_FALSE(asynchronous.parts.kept.full());
  Accounted synchronous(AccountedJob(v1::POLICY_KIND_SYNC));
  synchronous.accounts.LimitKept();
  synchronous.parts.kept.Add(static_cast<int64_t>(KeptImagesLimit(0)) - 1);
  EXPECT_FALSE(synchronous.parts.kept.full());
  synchronous.parts.kept.Add(1);
  EXPECT_TRUE(synchronous.parts.kept.full());
  EXPECT_EQ(synchronous.accounts.Facts().kept, KeptImagesLimit(0));
}

}  // namespace
}  // namespace capstan::ps
