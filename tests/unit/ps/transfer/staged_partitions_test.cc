// Which of several partitions that arrive at once is let in above the limit.
#include "ps/transfer/staged_partitions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/crc32c.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "ps/transfer/load_job.h"

namespace capstan::ps {
namespace {

constexpr uint64_t kOnlyTimeline = 1;
constexpr uint64_t kSendingShard = 10;  // Incarnations.
constexpr uint64_t kReceiver = 11;
constexpr size_t kPieceBytes = 80;
constexpr size_t kLimit = 100;  // Room for one piece.

v1::JobSpec JobOfThree() {
  v1::JobSpec job;
  job.set_job("moves");
  job.set_partition_count(3);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  return job;
}

// A shard to which shard 0 moves all its partitions.
class StagedPartitionsTest : public testing::Test {
 protected:
  StagedPartitionsTest() {
    auto made =
        Shard::Create(JobOfThree(), {ShardIndex{1}, Incarnation{kReceiver}}, metrics_, clock_);
    CAPSTAN_CHECK(made.ok());
    shard_ = *std::move(made);
    v1::LoadPartitionsRequest order;
    order.mutable_header()->set_timeline(kOnlyTimeline);
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kOnlyTimeline).ok());
    CAPSTAN_CHECK(LoadJob(*shard_, order, {.background = threads_}).Run().ok());
    staged_ = std::make_unique<StagedPartitions>(*shard_, threads_);
    shard_->memory().of(MemoryUse::kMoves).SetLimit(kLimit);
    Announce({0, 1, 2});
  }

  // Publishes a view that moves these partitions, each by the move of its number.
  void Announce(const std::set<uint32_t>& partitions) {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(++views_);
    view.set_timeline(kOnlyTimeline);
    for (uint32_t i = 0; i < 3; ++i) view.add_owners(0);
    for (uint32_t i = 0; i < 2; ++i) {
      v1::ShardInfo& shard = *view.add_shards();
      shard.set_index(i);
      shard.set_incarnation(i == 0 ? kSendingShard : kReceiver);
      shard.set_address("here");
    }
    for (const uint32_t partition : partitions) {
      v1::PartitionMove& move = *view.add_moves();
      move.set_partition(partition);
      move.set_to(1);
      move.set_to_incarnation(kReceiver);
      move.mutable_id()->set_term(1);
      move.mutable_id()->set_n(1 + partition);
    }
    CAPSTAN_CHECK(shard_->SetView(view).ok());
    staged_->Follow();
  }

  // Takes a piece of the partition's copy, at this place among the pieces.
  absl::Status Take(uint32_t partition, uint64_t place, bool last = false) {
    v1::TakePartitionRequest request;
    request.mutable_header()->set_timeline(kOnlyTimeline);
    request.set_partition(partition);
    request.mutable_move()->set_term(1);
    request.mutable_move()->set_n(1 + partition);
    request.set_offset(place * kPieceBytes);
    request.set_piece(std::string(kPieceBytes, 'x'));
    request.set_last(last);
    request.set_crc32c(Crc32c(std::string((place + 1) * kPieceBytes, 'x')));
    return staged_->Take(request).status();
  }

  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  Threads threads_;
  uint64_t views_ = 10;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<StagedPartitions> staged_;
};

TEST_F(StagedPartitionsTest, WhoBeganFirstIsLetInUntilAllHasComeWhoeverComesLater) {
  ASSERT_TRUE(Take(1, 0).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Take(0, 0))) << "a lower number that begins later";
  EXPECT_TRUE(absl::IsResourceExhausted(Take(2, 0)));
  EXPECT_EQ(shard_->memory().of(MemoryUse::kMoves).held(), kPieceBytes);
  EXPECT_TRUE(Take(1, 1).ok()) << "it is above the limit alone";
  EXPECT_TRUE(absl::IsResourceExhausted(Take(0, 0)));
  EXPECT_TRUE(Take(1, 2, /*last=*/true).ok());
  EXPECT_TRUE(Take(2, 0).ok()) << "the next one that asks is let in";
  EXPECT_TRUE(Take(2, 1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Take(0, 0)));
}

TEST_F(StagedPartitionsTest, WhereTheFirstIsGivenUpAnotherIsLetIn) {
  ASSERT_TRUE(Take(1, 0).ok());
  ASSERT_TRUE(absl::IsResourceExhausted(Take(2, 0)));
  Announce({0, 2});
  EXPECT_TRUE(Take(2, 0).ok());
  EXPECT_TRUE(Take(2, 1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Take(0, 0)));
}

}  // namespace
}  // namespace capstan::ps
