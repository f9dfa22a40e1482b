#include "chief/duties/member_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class MemberDutyTest : public DutyTest {
 protected:
  // For so many seconds nobody but the owner of partition 0, or nobody at all, is heard of.
  void Listen(int seconds, bool hears) {
    for (int second = 0; second < seconds; ++second) {
      now_ += absl::Seconds(1);
      if (hears) shard(0).heard = now_;
      job_.placement.hearing.Listen(job_.placement.shards, now_);
    }
  }

  MemberDuty duty_{job_, orders_};
};

class ReplicaMemberDutyTest : public DutyTest {
 protected:
  ReplicaMemberDutyTest() : DutyTest(CrewOptions{.tasks = 10, .replicas = 1}) {}

  MemberDuty duty_{job_, orders_};
};

TEST_F(MemberDutyTest, AShardThatComesIsToldTheTimelineBeforeTheViewNamesIt) {
  Run(2);
  AddShard(2);
  duty_.Advance(now_);
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_EQ(calls[0].shard, 2u);
  EXPECT_FALSE(job_.placement.views.members().contains(2));

  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  duty_.OnAnswer(*job_.calls.OnReply(calls[0].call, ShardReply(reply), now_), now_);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.placement.views.members().contains(2));
}

TEST_F(ReplicaMemberDutyTest, WhoHasJoinedMayHaveALeaseForWhichItHasAskedBefore) {
  Run(2);
  AddShard(2);
  duty_.Advance(now_);
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  const ShardLease& lease = job_.placement.hearing.lease();
  EXPECT_TRUE(lease.IsOver(102, now_));
  duty_.OnAnswer(*job_.calls.OnReply(calls[0].call, ShardReply(reply), now_), now_);
  EXPECT_FALSE(lease.IsOver(102, now_ + absl::Seconds(10)));
}

TEST_F(MemberDutyTest, NobodyIsAdmittedWhenTheEndHasBegun) {
  Run(2);
  job_.BeginEnd("");
  AddShard(2);
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), testing::IsEmpty());
}

TEST_F(MemberDutyTest, AShardWithoutPartitionsThatFallsSilentIsForgotten) {
  Run(2);
  AddShard(2);
  now_ += absl::Seconds(11);
  duty_.Advance(now_);
  EXPECT_EQ(job_.placement.shards.Find(2), nullptr);
  EXPECT_NE(job_.placement.shards.Find(1), nullptr) << "it owns partitions";
}

TEST_F(MemberDutyTest, AChiefThatHearsOfNobodyForgetsNobody) {
  Run(2);
  AddShard(2);
  AddShard(3);
  job_.placement.views.AddMember(3);
  Listen(20, /*hears=*/false);
  duty_.Advance(now_);
  EXPECT_NE(job_.placement.shards.Find(2), nullptr);
  EXPECT_TRUE(job_.placement.views.members().contains(3));
  Listen(10, /*hears=*/true);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.placement.views.members().contains(3)) << "it has as long as ever to come";
  Listen(1, /*hears=*/true);
  duty_.Advance(now_);
  EXPECT_EQ(job_.placement.shards.Find(2), nullptr);
  EXPECT_FALSE(job_.placement.views.members().contains(3));
}

TEST_F(MemberDutyTest, AShardMayLeaveWhenAllHaveHeardOfAViewInWhichItOwnsNothing) {
  Run(2);
  EXPECT_FALSE(duty_.MayLeave(1, now_));
  job_.placement.views.MakeMap(8, {0});
  EXPECT_FALSE(duty_.MayLeave(1, now_)) << "others take it for the owner";
  Publish();
  EXPECT_TRUE(duty_.MayLeave(1, now_));
}

TEST_F(MemberDutyTest, AShardMayLeaveWhenTheLastCheckpointHoldsAllThereWillBe) {
  Run(2);
  job_.checkpoints.frozen = true;
  EXPECT_TRUE(duty_.MayLeave(0, now_));
}

TEST_F(MemberDutyTest, WhoWasToLeaveAndIsNotHeardOfForThreeLeasesIsGivenUp) {
  Run(2);
  shard(1).draining = true;
  now_ += absl::Seconds(30);
  shard(0).heard = now_;
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  now_ += absl::Seconds(1);
  shard(0).heard = now_;
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders,
              testing::ElementsAre("return: shard 1 was to leave, and has not come back (1)"));
  EXPECT_THAT(job_.placement.next_map, testing::ElementsAre(0u));
}

TEST_F(MemberDutyTest, NobodyIsGivenUpBecauseTheChiefHasSlept) {
  Run(2);
  shard(1).draining = true;
  job_.placement.hearing.Listen(job_.placement.shards, now_);
  now_ += absl::Seconds(40);
  job_.placement.hearing.Listen(job_.placement.shards, now_);
  shard(0).heard = now_;
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
}

TEST_F(MemberDutyTest, NobodyIsGivenUpBecauseTheChiefHasHeardOfNobody) {
  Run(2);
  shard(1).draining = true;
  Listen(40, /*hears=*/false);
  shard(0).heard = now_;
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  Listen(11, /*hears=*/true);
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders, testing::SizeIs(1));
}

TEST_F(MemberDutyTest, NobodyIsGivenUpWhereNobodyCouldTakeItsPartitions) {
  Run(2);
  shard(1).draining = true;
  now_ += absl::Minutes(5);  // Nor is the other one heard of.
  duty_.GiveUpThoseThatLeft(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
}

TEST_F(MemberDutyTest, WhoLeavesOnTheWayToACheckpointIsDoneWithoutAndNowhereElse) {
  Run(2);
  job_.recovery.restoration.Begin(job_.Sources(), now_);
  shard(1).draining = true;
  now_ += absl::Seconds(31);
  shard(0).heard = now_;
  duty_.RestoreWithoutThoseThatLeft(now_);
  EXPECT_THAT(job_.placement.next_map, testing::IsEmpty()) << "the others train";
  job_.state = v1::JOB_STATE_RESTORING;
  duty_.RestoreWithoutThoseThatLeft(now_);
  EXPECT_THAT(job_.placement.next_map, testing::ElementsAre(0u));
  EXPECT_FALSE(job_.placement.views.has_map());
}

}  // namespace
}  // namespace capstan::chief
