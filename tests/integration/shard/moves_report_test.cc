// What shards report of their partitions when these come and go, and that one without any is served
// and answers.
#include <gtest/gtest.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "capstan/placement/placement.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

TEST(MovesReportTest, AShardWithoutPartitionsIsServedAndAnswers) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2, 0, {}, /*owners=*/1);
  ps::Shard& empty = shards.at(1).shard();
  EXPECT_EQ(empty.timeline(), 1u);
  EXPECT_EQ(shards.at(1).Report().partitions_size(), 0);
  v1::CloseStreamsRequest close;
  close.mutable_header()->set_timeline(1);
  close.add_streams()->set_stream(5);
  ps::ReplicaWait nobody;
  EXPECT_TRUE(empty.CloseStreams(close, nobody).ok());
  EXPECT_EQ(empty.Flush(nobody), 0u);
  const TestFolder folder;
  v1::SavePartitionsRequest save;
  save.mutable_header()->set_timeline(1);
  save.set_uri(absl::StrCat("file://", folder.Path("nothing")));
  save.set_id("1-a");
  absl::StatusOr<v1::SavePartitionsReply> saved;
  do {
    saved = shards.at(1).saver().Order(save);
  } while (saved.ok() && !saved->done());
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->files_size(), 0);
  ASSERT_TRUE(MoveAll(shards, {AllPartitions(), 0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  EXPECT_GT(trainer.Push(0, -1).count(v1::OUTCOME_APPLIED), 8u);
  EXPECT_EQ(shards.at(0).Report().partitions_size(), 0) << "now it has none";
}

TEST(MovesReportTest, AShardTellsOfTheLoadOfEachOfItsPartitions) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Trainer trainer(shards);
  trainer.Plan({1});
  const uint32_t home = static_cast<uint32_t>(
      Raw(PartitionOfKey(1, shards.job().tables(0).seed(), shards.job().partition_count())));
  const int owner = static_cast<int>(shards.view().owners(static_cast<int>(home)));
  const auto load_of_home = [&](int shard) {
    v1::PartitionLoad load;
    const v1::ShardReport report = shards.at(shard).Report();
    for (const v1::PartitionLoad& of : report.partitions()) {
      if (of.partition() == home) load = of;
    }
    return load;
  };
  const v1::PartitionLoad before = load_of_home(owner);
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  ASSERT_TRUE(trainer.Push(0, -1).status.ok()) << "settled before: no load";
  ASSERT_TRUE(trainer.Pull().status.ok());
  const v1::PartitionLoad after = load_of_home(owner);
  const uint64_t blocks = after.pushed_rows() - before.pushed_rows() - 1;
  EXPECT_LE(blocks, 1u);
  EXPECT_EQ(after.pulled_rows() - before.pulled_rows(), 1 + blocks);
  EXPECT_GT(after.bytes(), 0u);
  ASSERT_TRUE(MoveAll(shards, {{home}, owner, 1 - owner}).ok());
  EXPECT_EQ(load_of_home(1 - owner).pushed_rows(), 0u) << "since it is there";
  EXPECT_EQ(load_of_home(owner).bytes(), 0u);
}

// Also where it is cut over shards and partitions, is sent again, and when these have moved.
TEST(MovesReportTest, EachBatchIsCountedOnce) {
  LocalShards shards(SmallJob(/*dim=*/2, /*dense_width=*/0), 2);
  const auto counted = [&shards] {
    uint64_t sum = 0;
    for (const int shard : {0, 1}) {
      const v1::ShardReport report = shards.at(shard).Report();
      for (const v1::PartitionLoad& of : report.partitions()) {
        EXPECT_TRUE(of.has_batches());
        sum += of.batches();
      }
    }
    return sum;
  };
  EXPECT_EQ(counted(), 0u);
  Trainer trainer(shards);
  const auto push = [&trainer](uint64_t seq) {
    return trainer.Push({.stream = StreamPush{StreamId::Task(0, 1), seq, {1, 1}, 0}}, -1);
  };
  trainer.Plan(Keys(0, 30));
  ASSERT_GT(push(0).count(v1::OUTCOME_APPLIED), 4u) << "in most partitions";
  EXPECT_EQ(counted(), 1u);
  ASSERT_TRUE(push(0).status.ok()) << "the same again";
  EXPECT_EQ(counted(), 1u);
  trainer.Plan({7});
  ASSERT_TRUE(push(1).status.ok());
  EXPECT_EQ(counted(), 2u);
  ASSERT_TRUE(MoveAll(shards, {FirstHalf(), 0, 1}).ok());
  EXPECT_EQ(counted(), 2u);
}

}  // namespace
}  // namespace capstan
