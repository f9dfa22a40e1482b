// What a backup does with the pushes that it is told of: it decides at once, and updates rows
// later.
#include "ps/shard/backups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/placement/placement.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

constexpr Timeline kTold{1};
constexpr ViewEpoch kToldPair{.term = 1, .n = 5};
constexpr uint32_t kPartitions = 2;

// A shard that backs up both partitions of a job with a table of one column, which SGD trains with
// rate 1.
class BackupsTest : public testing::Test {
 protected:
  BackupsTest() {
    v1::JobSpec job;
    job.set_job("backed-up");
    job.set_partition_count(kPartitions);
    job.set_replicas(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job);
    auto shard = Shard::Create(job, {ShardIndex{1}, Incarnation{2}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    for (int32_t i = 0; i < int32_t{kPartitions}; ++i) {
      auto content = InitialContent(shard_->catalog(), PartitionIndex{i}, kTold, shard_->slabs());
      CAPSTAN_CHECK(content.ok());
      partition(i).Adopt(*std::move(content), kToldPair);
    }
    shard_->Tick();
  }

  // The first `count` keys of the partition.
  std::vector<uint64_t> Keys(int32_t partition, size_t count) const {
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; keys.size() < count; ++key) {
      const uint64_t seed = shard_->catalog().job().tables(0).seed();
      if (Raw(PartitionOfKey(key, seed, kPartitions)) == partition) keys.push_back(key);
    }
    return keys;
  }

  // The owner has applied its push number `seq` to the partition, which made it of version seq + 1:
  // a gradient of -1 for each key.
  absl::Status Tell(int32_t partition, uint64_t seq, const std::vector<uint64_t>& keys) {
    v1::PushRequest push;
    push.mutable_header()->set_timeline(Raw(kTold));
    push.mutable_stream()->set_stream(StreamId::Task(0, 5).value);
    push.mutable_stream()->set_seq(seq);
    push.mutable_stream()->set_low_watermark(seq);
    push.add_partitions()->set_partition(static_cast<uint32_t>(partition));
    v1::TableGradient& rows = *push.mutable_partitions(0)->add_tables();
    const std::vector<float> gradient(keys.size(), -1);
    rows.set_table(1);
    rows.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
    rows.set_values(gradient.data(), gradient.size() * sizeof(float));
    const auto read = shard_->backups().ReadPush(EventLoop::Serialize(push));
    CAPSTAN_CHECK(read.ok());
    v1::Operation operation;
    operation.set_partition(static_cast<uint32_t>(partition));
    operation.mutable_pair()->set_term(kToldPair.term);
    operation.mutable_pair()->set_n(kToldPair.n);
    operation.mutable_push()->set_sparse(v1::OUTCOME_APPLIED);
    operation.mutable_push()->set_sparse_version(seq + 1);
    return shard_->backups().Replay(Incarnation{7}, Raw(kTold), operation, PushShare{*read, 0});
  }

  Partition& partition(int32_t index) { return shard_->partitions()[PartitionIndex{index}]; }
  uint64_t rows(int32_t index) { return partition(index).facts().tables[0].rows; }
  uint64_t updates(int32_t index) { return partition(index).facts().tables[0].counters.updated; }
  // Of pushes that are kept.
  size_t kept_bytes() const { return shard_->waiting_gradients().held(); }

  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
};

TEST_F(BackupsTest, APushIsDecidedAtOnceAndItsRowsAreUpdatedWithinAMoment) {
  const std::vector<uint64_t> keys = Keys(0, 3);
  ASSERT_TRUE(Tell(0, 0, keys).ok());
  ASSERT_TRUE(Tell(0, 1, keys).ok());
  EXPECT_EQ(partition(0).facts().version, 2u);
  EXPECT_EQ(rows(0), 0u);
  EXPECT_GT(kept_bytes(), 0u);
  clock_.Advance(Backups::kLongestPutOff / 2);
  shard_->Tick();
  EXPECT_EQ(rows(0), 0u);
  clock_.Advance(Backups::kLongestPutOff / 2);
  shard_->Tick();
  EXPECT_EQ(rows(0), 3u);
  EXPECT_EQ(updates(0), 6u);
  EXPECT_EQ(kept_bytes(), 0u);
}

TEST_F(BackupsTest, WhoBecomesTheOwnerHasAllThatItWasTold) {
  ASSERT_TRUE(Tell(0, 0, Keys(0, 3)).ok());
  EXPECT_EQ(rows(0), 0u);
  partition(0).Promote(clock_.Now());
  EXPECT_EQ(rows(0), 3u);
  EXPECT_FALSE(partition(0).puts_off());
}

TEST_F(BackupsTest, WhatIsPutOffIsDroppedWithTheCopyThatItIsFor) {
  ASSERT_TRUE(Tell(0, 0, Keys(0, 3)).ok());
  partition(0).Unload();
  EXPECT_FALSE(partition(0).puts_off()) << "or it would count for what others may put off";
  EXPECT_EQ(kept_bytes(), 0u);
}

TEST_F(BackupsTest, WhatIsPutOffIsBoundedAndHasItsTurnPartitionByPartition) {
  constexpr size_t kKeys = 50'000;  // Of twelve bytes with their gradients.
  const std::vector<uint64_t> keys[] = {Keys(0, kKeys), Keys(1, kKeys)};
  size_t most = 0;
  for (uint64_t seq = 0; seq < 10; ++seq) {
    for (const int32_t index : {0, 1}) {
      ASSERT_TRUE(Tell(index, seq, keys[index]).ok());
      shard_->backups().LimitPutOff();
      EXPECT_LE(kept_bytes(), Backups::kMostPutOff + 1000);
      most = std::max(most, kept_bytes());
    }
  }
  EXPECT_GT(most, Backups::kMostPutOff / 2) << "as much as may be is applied together";
  EXPECT_GT(updates(0), 0u);
  EXPECT_GT(updates(1), 0u);
  EXPECT_LT(updates(0) + updates(1), 20 * kKeys);
}

TEST_F(BackupsTest, AnotherOutcomeThanTheOwnersIsRefusedAtOnce) {
  ASSERT_TRUE(Tell(0, 0, Keys(0, 3)).ok());
  EXPECT_TRUE(absl::IsDataLoss(Tell(0, 0, Keys(0, 3)))) << "it has been settled here";
  EXPECT_EQ(partition(0).standby(), Partition::kSpoiled);
}

TEST_F(BackupsTest, WhatIsLargerThanAllThatMayBePutOffIsAppliedAtOnce) {
  constexpr size_t kKeys = 400'000;
  static_assert(kKeys * 12 > Backups::kMostPutOff);
  ASSERT_TRUE(Tell(0, 0, Keys(0, 3)).ok());
  ASSERT_TRUE(Tell(0, 1, Keys(0, kKeys)).ok());
  EXPECT_EQ(updates(0), kKeys + 3) << "after what was put off";
  EXPECT_EQ(kept_bytes(), 0u);
}

}  // namespace
}  // namespace capstan::ps
