#include "chief/job/placement.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Eight partitions on two shards.
class PlacementTest : public DutyTest {
 protected:
  PlacementTest() { Run(2); }

  // A batch that moves partition 1 to shard 0 is given up.
  void FailToMove() {
    job_.placement.moves.Plan({PlannedMove{.partition = 1, .from = 1, .to = 0}}, "shard 1 leaves");
    job_.placement.moves.Begin([](const PlannedMove&) { return uint64_t{1}; }, now_);
    job_.placement.moves.Cancel(/*failed=*/true, now_, job_.calls);
  }
};

TEST_F(PlacementTest, AShardTakesPartitionsUnlessItIsGoneLeavesOrIsSilent) {
  EXPECT_TRUE(job_.placement.MayTake(0, now_));
  EXPECT_FALSE(job_.placement.MayTake(2, now_)) << "nobody has heard of it";
  shard(0).draining = true;
  EXPECT_FALSE(job_.placement.MayTake(0, now_));
  shard(0).draining = false;
  shard(0).present = false;
  EXPECT_FALSE(job_.placement.MayTake(0, now_));
  shard(0).present = true;
  const absl::Time later = now_ + absl::Seconds(11);
  shard(1).heard = later;
  EXPECT_FALSE(job_.placement.MayTake(0, later));
  EXPECT_TRUE(job_.placement.MayTake(1, later));
}

TEST_F(PlacementTest, AShardLacksWhatItsPresentProcessHasNotLoaded) {
  EXPECT_THAT(job_.placement.PartitionsOf(1), testing::ElementsAre(1, 3, 5, 7));
  EXPECT_FALSE(job_.placement.Lacks(shard(1)));
  EXPECT_TRUE(job_.placement.IsPublished(shard(1)));
  AddShard(1, /*incarnation=*/777);
  EXPECT_TRUE(job_.placement.Lacks(shard(1)));
  EXPECT_FALSE(job_.placement.IsPublished(shard(1)));
  Publish();
  EXPECT_TRUE(job_.placement.IsPublished(shard(1)));
  shard(1).present = false;
  EXPECT_FALSE(job_.placement.Lacks(shard(1))) << "nobody knows what it has";
  AddShard(2);
  EXPECT_FALSE(job_.placement.Lacks(shard(2))) << "it owns nothing";
}

TEST_F(PlacementTest, AShardThatLeavesIsOneOnlyAsLongAsItHasPartitions) {
  AddShard(2);
  shard(1).draining = true;
  shard(2).draining = true;
  EXPECT_THAT(job_.placement.LeavingShards(), testing::ElementsAre(1)) << "shard 2 has none";
}

TEST_F(PlacementTest, AShardThatLeavesIsSavedWhereNobodyTakesWhatItHas) {
  shard(1).draining = true;
  EXPECT_THAT(job_.placement.ShardsToSave(now_), testing::IsEmpty()) << "shard 0 takes it";
  shard(0).draining = true;
  EXPECT_THAT(job_.placement.ShardsToSave(now_), testing::ElementsAre(0, 1));
}

TEST_F(PlacementTest, AShardThatLeavesIsSavedOnceItsMovesHaveFailedTwice) {
  shard(1).draining = true;
  FailToMove();
  EXPECT_THAT(job_.placement.ShardsToSave(now_), testing::IsEmpty());
  FailToMove();
  EXPECT_THAT(job_.placement.ShardsToSave(now_), testing::ElementsAre(1));
}

TEST_F(PlacementTest, ItIsKnownWhichPartitionsHaveABackupAndHowManyHaveNone) {
  EXPECT_EQ(job_.placement.Unpaired(), 8u);
  Pair({0, 2}, /*backup=*/1);
  const std::vector<std::optional<uint32_t>> backups = job_.placement.Backups();
  ASSERT_THAT(backups, testing::SizeIs(8));
  EXPECT_EQ(backups[0], 1u);
  EXPECT_EQ(backups[1], std::nullopt);
  EXPECT_EQ(backups[2], 1u);
  EXPECT_EQ(job_.placement.Unpaired(), 6u);
}

TEST_F(PlacementTest, MovesLingerUntilAViewWithoutThemIsPublished) {
  EXPECT_FALSE(job_.placement.MovesLinger());
  v1::PartitionMove move;
  move.set_partition(1);
  move.set_to(0);
  job_.placement.views.SetMoves({move});
  Publish();
  EXPECT_TRUE(job_.placement.MovesLinger());
  job_.placement.views.SetMoves({});
  EXPECT_TRUE(job_.placement.MovesLinger()) << "others still go by the view before";
  Publish();
  EXPECT_FALSE(job_.placement.MovesLinger());
}

}  // namespace
}  // namespace capstan::chief
