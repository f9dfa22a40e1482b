#include "chief/duties/pair_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Three shards own the partitions, and shard 3 has joined and owns nothing.
class PairDutyTest : public DutyTest {
 protected:
  PairDutyTest() : DutyTest(CrewOptions{.tasks = 10, .shards = 3, .replicas = 1}) {
    Run(3);
    AddShard(3);
    job_.placement.views.AddMember(3);
    Publish();
  }

  // Partitions that have a backup.
  std::vector<uint32_t> Paired() const {
    std::vector<uint32_t> paired;
    for (const v1::PartitionPair& pair : job_.placement.views.current().pairs()) {
      paired.push_back(pair.partition());
    }
    return paired;
  }
  v1::ReplicaStatus Status() const {
    v1::ReplicaStatus status;
    duty_.Fill(status);
    return status;
  }
  // The shard says that it is out of step in its pair of the partition, as the view names it.
  void SayBroken(uint32_t index, uint32_t partition) {
    v1::BrokenPair& broken = *shard(index).report.add_broken_pairs();
    broken.set_partition(partition);
    *broken.mutable_pair() = job_.placement.views.PairOf(partition)->id();
  }

  PairDuty duty_{job_, orders_};
};

TEST_F(PairDutyTest, AnOwnerGoesOnWithoutABackupThatHasEndedOrHasBeenReplaced) {
  Pair({0}, 1);
  Pair({1}, 2);
  Pair({2}, 0);
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(0u, 1u, 2u));
  shard(1).gone = true;
  AddShard(2, /*incarnation=*/7);
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(2u));
  EXPECT_EQ(Status().dropped(), 2u);
  EXPECT_EQ(Status().broken(), 0u);
}

TEST_F(PairDutyTest, AnOwnerGoesOnWithoutABackupThatIsSilentForLongerThanItsLease) {
  Pair({0}, 1);
  Pair({1}, 0);
  now_ += absl::Seconds(10.2);
  shard(0).heard = now_;
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(0u, 1u));
  duty_.Drop(now_ + absl::Milliseconds(1));
  EXPECT_THAT(Paired(), testing::ElementsAre(1u));
}

TEST_F(PairDutyTest, AChiefThatIsCutOffDropsNoBackups) {
  Pair({0}, 1);
  for (int second = 0; second < 20; ++second) {
    now_ += absl::Seconds(1);
    job_.placement.hearing.Listen(job_.placement.shards,
                                  now_);  // It is awake, and hears of nobody.
  }
  ASSERT_TRUE(job_.placement.hearing.IsSilent(shard(1), now_));
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(0u));
}

TEST_F(PairDutyTest, AShardThatLeavesIsABackupForAsLongAsItHasPartitionsOfItsOwn) {
  Pair({0}, 1);
  Pair({3}, 3);
  shard(1).draining = true;
  shard(3).draining = true;
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(0u));
}

TEST_F(PairDutyTest, NothingIsDroppedUnlessSomethingWasHeardOfShardsThatServe) {
  Pair({0}, 1);
  shard(1).gone = true;
  job_.placement.heard_of_shards = false;
  duty_.Drop(now_);
  job_.placement.heard_of_shards = true;
  job_.state = v1::JOB_STATE_RESTORING;
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::ElementsAre(0u));
  job_.state = v1::JOB_STATE_CHECKPOINTING;
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::IsEmpty());
}

TEST_F(PairDutyTest, OneThatIsNoMemberAnyMoreIsNoBackup) {
  Pair({0}, 3);
  job_.placement.views.RemoveMember(3);
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::IsEmpty());
}

TEST_F(PairDutyTest, BackupsOfAChiefBeforeThisOneAreOverWhereTheJobWantsNoneAnyMore) {
  Pair({0}, 1);
  job_.plan.spec.set_replicas(0);
  duty_.Drop(now_);
  EXPECT_THAT(Paired(), testing::IsEmpty());
}

TEST_F(PairDutyTest, WhatABackupFindsOutOfStepIsMadeAnew) {
  Pair({0, 3, 6}, 1);
  SayBroken(1, 3);
  duty_.Hear(shard(1));
  EXPECT_THAT(Paired(), testing::ElementsAre(0u, 6u));
  EXPECT_EQ(Status().broken(), 1u);
  EXPECT_EQ(Status().dropped(), 1u);
  EXPECT_EQ(Status().paired(), 2u);
  EXPECT_EQ(Status().unpaired(), 6u);
}

TEST_F(PairDutyTest, WhatIsSaidOfAnEarlierPairOrByAnotherShardBreaksNothing) {
  Pair({0}, 1);
  SayBroken(1, 0);
  SayBroken(2, 0);
  duty_.Hear(shard(2));
  EXPECT_THAT(Paired(), testing::ElementsAre(0u)) << "shard 1 is its backup";
  job_.placement.views.DropPairs([](const v1::PartitionPair&) { return true; });
  Pair({0}, 1);
  duty_.Hear(shard(1));
  EXPECT_THAT(Paired(), testing::ElementsAre(0u)) << "the pair was made anew since";
}

}  // namespace
}  // namespace capstan::chief
