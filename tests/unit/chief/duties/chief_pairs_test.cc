// The chief's machine: pairs of an owner and a backup, how they come about and end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"
#include "tests/unit/chief/duties/replicas_job.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// ---- pairs come about ----

TEST_F(ChiefReplicasTest, EveryPartitionIsGivenABackupOnAnotherShardByAMove) {
  ASSERT_THAT(view().pairs(), SizeIs(8));
  for (const v1::PartitionPair& pair : view().pairs()) {
    EXPECT_NE(pair.backup(), view().owners(static_cast<int>(pair.partition())));
    EXPECT_EQ(pair.backup_incarnation(), pair.backup() + 1);
    EXPECT_GT(pair.id().n(), pair.move().n());
  }
  EXPECT_THAT(view().copies(), IsEmpty()) << "their owners stay";
  EXPECT_GE(crew_.answered["Copy"], 3);
  EXPECT_EQ(crew_.Status().replicas().unpaired(), 0u);
  EXPECT_EQ(crew_.Status().moves().paired(), 8u);
  EXPECT_EQ(crew_.Status().moves().moved(), 0u);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, TheMoveThatMakesThemSaysWhatItIs) {
  bool seen = false;
  for (const v1::View& each : crew_.views) {
    for (const v1::PartitionMove& move : each.moves()) {
      EXPECT_TRUE(move.replica());
      seen = true;
    }
  }
  EXPECT_TRUE(seen);
}

TEST(ChiefReplicasStartTest, WithoutReplicasNobodyIsPairedOrGrantedALease) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.Advance(absl::Seconds(10));
  EXPECT_THAT(crew.machine.view().pairs(), IsEmpty());
  EXPECT_EQ(crew.ShardHeartbeat(0).lease_seconds(), 0);
  EXPECT_EQ(crew.Status().replicas().unpaired(), 0u);
}

TEST(ChiefReplicasStartTest, OneShardAloneGoesOnAndTheStatusSaysThatNothingIsBackedUp) {
  Crew crew(Replicated(/*shards=*/1));
  crew.RegisterShards();
  crew.Advance(absl::Seconds(10));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.Status().replicas().unpaired(), 8u);
  EXPECT_THAT(crew.Status().warnings(), Contains(HasSubstr("no partition has a backup")));
  ASSERT_TRUE(crew.RegisterShard(1).ok());
  crew.Advance(absl::Seconds(15));
  EXPECT_EQ(crew.Status().replicas().unpaired(), 0u);
  EXPECT_EQ(OwnedBy(crew.machine.view(), 1), 4) << "it is given its share first";
  EXPECT_THAT(crew.Status().warnings(), Not(Contains(HasSubstr("backup"))));
}

TEST_F(ChiefLaneReplicasTest, PairsOfASynchronousJobAreMadeAtARoundBarrier) {
  EXPECT_THAT(view().pairs(), SizeIs(8));
  const auto finish = std::find(crew_.order.begin(), crew_.order.end(), "Finish");
  ASSERT_NE(finish, crew_.order.end());
  EXPECT_NE(std::find(crew_.order.begin(), finish, "Hold"), finish);
  EXPECT_EQ(crew_.answered["Hold"], crew_.answered["Release"]) << "and rounds go on";
}

TEST_F(ChiefReplicasTest, EachPartitionHasABackupAllTheTimeWhileAShardIsGivenItsShare) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.views.clear();
  crew_.Advance(absl::Seconds(15));
  ASSERT_GE(OwnedBy(view(), 3), 2);
  for (const v1::View& each : crew_.views) EXPECT_THAT(each.pairs(), SizeIs(8));
  for (const v1::PartitionCopy& copy : view().copies()) {
    EXPECT_EQ(view().owners(static_cast<int>(copy.partition())), 3u)
        << "the others own what they had";
  }
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AShardThatHasComeBacksUpAsMuchAsTheOthers) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.Advance(absl::Seconds(15));
  ASSERT_THAT(view().pairs(), SizeIs(8));
  EXPECT_GE(OwnedBy(view(), 3) + BackedUpBy(view(), 3), 3);
  EXPECT_GE(BackedUpBy(view(), 3), 1);
  crew_.move_orders.clear();
  crew_.Advance(absl::Seconds(30));
  EXPECT_THAT(crew_.move_orders, IsEmpty()) << "and that is that";
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, ABackupIsOneUntilTheShardThatTakesItsPlaceIs) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.views.clear();
  crew_.Advance(absl::Seconds(15));
  std::set<uint32_t> paired;
  int replaced = 0;
  for (const v1::View& each : crew_.views) {
    std::set<uint32_t> pairs;
    for (const v1::PartitionPair& pair : each.pairs()) pairs.insert(pair.partition());
    for (const v1::PartitionMove& move : each.moves()) {
      if (!move.replica() || !paired.contains(move.partition())) continue;
      EXPECT_TRUE(pairs.contains(move.partition())) << move.partition();
      ++replaced;
    }
    paired = std::move(pairs);
  }
  EXPECT_GT(replaced, 0);
  EXPECT_THAT(view().pairs(), SizeIs(8)) << "one each";
  EXPECT_GE(BackedUpBy(view(), 3), 1);
  ExpectNothingLost();
}

TEST_F(ChiefTwoReplicasTest, WhatAShardThatLeavesOwnsIsHandedOverToItsBackup) {
  const std::map<uint32_t, v1::PartitionPair> before = PairsOf(view(), 1);
  crew_.views.clear();
  crew_.draining = {1};
  crew_.Advance(absl::Seconds(5));
  int handed_over = 0;
  for (const v1::View& each : crew_.views) {
    for (const v1::PartitionMove& move : each.moves()) {
      EXPECT_TRUE(move.hand_over()) << move.partition();
      EXPECT_TRUE(PairsOf(each, 1).contains(move.partition())) << "it is a pair until then";
      ++handed_over;
    }
  }
  EXPECT_GT(handed_over, 0);
  for (const v1::PartitionCopy& copy : view().copies()) {
    EXPECT_EQ(copy.move().n(), before.at(copy.partition()).move().n()) << "nothing is copied";
  }
  EXPECT_EQ(OwnedBy(view(), 0), 8);
  EXPECT_THAT(view().pairs(), IsEmpty());
  EXPECT_TRUE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AShardThatLeavesBacksNothingUpWhenItMayGo) {
  crew_.draining = {2};
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(OwnedBy(view(), 2), 0);
  EXPECT_EQ(BackedUpBy(view(), 2), 0);
  EXPECT_THAT(view().pairs(), SizeIs(8)) << "the others do";
  EXPECT_TRUE(crew_.ShardHeartbeat(2, /*draining=*/true).may_leave());
  ExpectNothingLost();
}

// `finish`: the partitions stand still; otherwise their hand-over has been ordered.
void LeaveAndHold(Crew& crew, uint32_t shard, bool finish) {
  crew.hold_calls = true;
  crew.draining = {shard};
  (void)crew.ShardHeartbeat(shard, /*draining=*/true);
  AnswerUntilMove(crew, finish);
}

TEST_F(ChiefReplicasTest, AShardThatIsKilledWhileItLeavesIsReplacedByItsBackups) {
  for (const bool finish : {false, true}) {
    const uint32_t shard = finish ? 2 : 1;
    const std::map<uint32_t, v1::PartitionPair> owned = PairsOf(view(), shard);
    LeaveAndHold(crew_, shard, finish);
    ASSERT_EQ(PairsOf(view(), shard).size(), owned.size()) << "all of it has its backup";
    ASSERT_GT(BackedUpBy(view(), shard), 0) << "and it is one itself";
    crew_.hold_calls = false;
    crew_.Kill(shard);
    for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
    crew_.AnswerCalls();
    for (const auto& [partition, pair] : owned) {
      EXPECT_EQ(view().owners(static_cast<int>(partition)), pair.backup());
    }
    crew_.draining.clear();
    ASSERT_TRUE(crew_.RegisterShard(shard, 50 + shard).ok());
    crew_.Advance(absl::Seconds(20));
    ASSERT_THAT(view().pairs(), SizeIs(8));
    ExpectNothingLost();
  }
}

TEST_F(ChiefReplicasTest, WhatHasLostItsBackupIsNotHandedOverToIt) {
  LeaveAndHold(crew_, 2, /*finish=*/true);
  ASSERT_THAT(view().moves(), Not(IsEmpty()));
  const uint32_t partition = view().moves(0).partition();
  crew_.hold_calls = false;
  SayBroken(partition);
  EXPECT_THAT(view().moves(), IsEmpty()) << "none of its batch is";
  EXPECT_EQ(view().owners(static_cast<int>(partition)), 2u);
  crew_.held.clear();
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(OwnedBy(view(), 2), 0) << "it moves";
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
}

// ---- a backup is lost ----

TEST_F(ChiefReplicasTest, TheBackupsOfALostShardAreDroppedAndMadeAnewElsewhere) {
  const std::map<uint32_t, v1::PartitionPair> others = PairsOf(view(), 0);
  ASSERT_THAT(others, Not(IsEmpty()));
  ASSERT_GT(BackedUpBy(view(), 2), 0);
  crew_.Kill(2);
  EXPECT_EQ(BackedUpBy(view(), 2), 0);
  EXPECT_GT(crew_.Status().replicas().dropped(), 0u);
  crew_.Advance(absl::Seconds(10));
  EXPECT_THAT(view().pairs(), SizeIs(8));
  EXPECT_EQ(BackedUpBy(view(), 2), 0);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, ABrokenPairIsDroppedAndMadeAnew) {
  const v1::View before = view();
  SayBroken(0);
  EXPECT_THAT(view().pairs(), SizeIs(7));
  EXPECT_EQ(crew_.Status().replicas().broken(), 1u);
  crew_.Advance(absl::Seconds(10));
  ASSERT_THAT(view().pairs(), SizeIs(8)) << "what it says of the pair before does not matter";
  EXPECT_GT(view().pairs(0).id().n(), before.pairs(0).id().n());
  EXPECT_EQ(crew_.Status().replicas().broken(), 1u);
}

TEST_F(ChiefReplicasTest, NobodyBreaksThePairOfAnother) {
  const v1::PartitionPair pair = view().pairs(0);
  const uint32_t owner = view().owners(0);
  v1::BrokenPair& broken = *crew_.reports[owner].add_broken_pairs();
  broken.set_partition(pair.partition());
  *broken.mutable_pair() = pair.id();
  (void)crew_.ShardHeartbeat(owner);
  EXPECT_THAT(view().pairs(), SizeIs(8));
}

}  // namespace
}  // namespace capstan::chief
