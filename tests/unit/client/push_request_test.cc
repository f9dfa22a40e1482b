// What a push carries to a shard, and what the shard's reply means.
#include "capstan/client/push_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capstan/placement/placement.h"
#include "tests/unit/client/one_shard.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Two partitions. The keys are such that the first one's row is in partition 1, and the second
// one's in partition 0.
class PushRequestTest : public OneShardTest {
 protected:
  PushRequestTest() : OneShardTest(/*partitions=*/2), keys_{KeyOf(1), KeyOf(0)} {
    AnswerWith([](uint32_t) { return v1::OUTCOME_APPLIED; });
  }

  static uint64_t KeyOf(int32_t partition) {
    uint64_t key = 0;
    while (PartitionOfKey(key, /*seed=*/0, 2) != PartitionIndex{partition}) ++key;
    return key;
  }
  // Of each partition that has rows this becomes.
  void AnswerWith(std::function<v1::Outcome(uint32_t partition)> outcome) {
    absl::MutexLock lock(&shard_.mu);
    shard_.push = [outcome](const v1::PushRequest& request, v1::PushReply& reply) {
      for (const v1::PartitionGradient& of : request.partitions()) {
        v1::PartitionOutcome& told = *reply.add_partitions();
        told.set_partition(of.partition());
        if (of.tables_size() > 0) told.set_sparse(outcome(of.partition()));
        if (of.blocks_size() > 0) told.set_dense(v1::OUTCOME_APPLIED);
      }
    };
  }
  // Pushes the rows (1, 2) and (3, 4), and (7, 8, 9) for the tensor.
  PushResult Push(AnsweredPartitions* answered = nullptr) {
    const float rows[] = {1, 2, 3, 4};
    const float dense[] = {7, 8, 9};
    const float* const matrices[] = {rows};
    const PartitionVersions versions = {{5, 6}, {15, 16}};
    return client_->PushAll(
        PlanOf(keys_),
        {.stream = StreamPush{.stream = {9}, .seq = 2}, .examples = 4, .answered = answered},
        {.rows = matrices, .dense = dense, .versions = &versions});
  }
  std::vector<v1::PushRequest> Arrived() {
    absl::MutexLock lock(&shard_.mu);
    return shard_.pushes;
  }

  const std::vector<uint64_t> keys_;
};

TEST_F(PushRequestTest, EachPartitionGetsItsRowsWithTheVersionThatWasPulled) {
  const PushResult result = Push();
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.count(v1::OUTCOME_APPLIED), 3u) << "two parts of rows, and one of blocks";
  const std::vector<v1::PushRequest> arrived = Arrived();
  ASSERT_THAT(arrived, SizeIs(1));
  EXPECT_EQ(arrived[0].stream().seq(), 2u);
  EXPECT_EQ(arrived[0].examples(), 4u);
  ASSERT_EQ(arrived[0].partitions_size(), 2);
  for (const v1::PartitionGradient& of : arrived[0].partitions()) {
    const bool second = of.partition() == 1;
    EXPECT_EQ(of.dense_version(), second ? 15u : 5u);
    EXPECT_EQ(of.sparse_version(), second ? 16u : 6u);
    ASSERT_EQ(of.tables_size(), 1);
    EXPECT_EQ(of.tables(0).table(), 4u);
    EXPECT_THAT(Floats(of.tables(0).values()), second ? ElementsAre(1, 2) : ElementsAre(3, 4));
    EXPECT_TRUE(of.tables(0).pulled().empty());
    for (const v1::BlockGradient& block : of.blocks()) {
      EXPECT_THAT(Floats(block.values()), ElementsAre(7, 8, 9));
    }
  }
}

TEST_F(PushRequestTest, ARepetitionLeavesOutWhatIsSettledAndCountsItNevertheless) {
  AnsweredPartitions answered;
  AnswerWith([](uint32_t of) { return of == 1 ? v1::OUTCOME_BUSY : v1::OUTCOME_APPLIED; });
  const PushResult first = Push(&answered);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.count(v1::OUTCOME_BUSY), 1u);
  EXPECT_NE(answered.Find(0), nullptr);
  EXPECT_EQ(answered.Find(1), nullptr);
  AnswerWith([](uint32_t) { return v1::OUTCOME_QUEUED; });
  const PushResult again = Push(&answered);
  ASSERT_THAT(Arrived(), SizeIs(2));
  ASSERT_EQ(Arrived()[1].partitions_size(), 1);
  EXPECT_EQ(Arrived()[1].partitions(0).partition(), 1u);
  EXPECT_EQ(again.count(v1::OUTCOME_QUEUED), 1u);
  EXPECT_EQ(again.count(v1::OUTCOME_APPLIED), first.count(v1::OUTCOME_APPLIED));
  EXPECT_TRUE(answered.empty()) << "all of it is settled now";
}

TEST_F(PushRequestTest, AnOutcomeThatOnlyALaterVersionKnowsIsToBePushedAgain) {
  AnswerWith([](uint32_t) { return static_cast<v1::Outcome>(77); });
  AnsweredPartitions answered;
  EXPECT_EQ(Push(&answered).count(v1::OUTCOME_BUSY), 2u);
  EXPECT_TRUE(answered.empty());
}

TEST_F(PushRequestTest, AReplyOfAnotherNumberOfPartitionsIsNoAnswer) {
  {
    absl::MutexLock lock(&shard_.mu);
    shard_.push = [](const v1::PushRequest&, v1::PushReply& reply) { reply.add_partitions(); };
  }
  EXPECT_EQ(Push().status, absl::InternalError("PushReply: 1 partitions, sent 2"));
}

}  // namespace
}  // namespace capstan
