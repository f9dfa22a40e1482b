// The chief's machine: shards come and go while the job runs.
#include <cstdint>
#include <set>
#include <string>

#include "tests/unit/chief/duties/moves_job.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// ---- joining ----

TEST_F(ChiefMovesTest, AShardThatJoinsIsToldTheTimelineAndGetsItsShare) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok()) << "indexes may have holes";
  EXPECT_EQ(crew_.answered["Join 1"], 1);
  EXPECT_EQ(MembersOf(crew_.machine.view()), (std::set<uint32_t>{0, 1, 3}));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 3), 0);
  crew_.Advance(absl::Seconds(2));
  EXPECT_EQ(crew_.answered["Copy"], 0) << "others may join in a moment";
  crew_.Advance(absl::Seconds(2));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 3), 2);
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_THAT(crew_.machine.view().copies(), SizeIs(OwnedBy(crew_.machine.view(), 3)));
  EXPECT_THAT(crew_.saves, IsEmpty());
  ExpectNothingLost();
  const v1::GetStatusReply status = crew_.Status();
  EXPECT_EQ(status.moves().under_way(), 0u);
  EXPECT_EQ(status.moves().moved(), static_cast<uint64_t>(OwnedBy(crew_.machine.view(), 3)));
  EXPECT_EQ(status.shards(2).partitions(), status.moves().moved());
}

TEST_F(ChiefMovesTest, TwoThatJoinTogetherAreGivenTheirSharesAtOnce) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.Advance(absl::Seconds(5));
  for (uint32_t shard = 0; shard < 4; ++shard) EXPECT_EQ(OwnedBy(crew_.machine.view(), shard), 2);
  EXPECT_EQ(crew_.answered["Finish"], 2) << "one batch, of two sources";
}

TEST_F(ChiefMovesTest, TheMoveIsNamedByTheViewThatOrdersItAndItsCopyByTheMove) {
  JoinAndHold(/*finish=*/false);
  const v1::View ordered = crew_.machine.view();
  ASSERT_THAT(ordered.moves(), Not(IsEmpty()));
  for (const v1::PartitionMove& move : ordered.moves()) {
    EXPECT_EQ(move.id().term(), ordered.epoch().term());
    EXPECT_EQ(move.id().n(), ordered.epoch().n());
    EXPECT_EQ(move.to(), 2u);
    EXPECT_EQ(move.to_incarnation(), 3u);
    EXPECT_NE(ordered.owners(static_cast<int>(move.partition())), 2u);
  }
  const CallShard call = TakeMove(crew_, /*finish=*/false);
  EXPECT_EQ(call.request.Get<v1::MovePartitionsRequest>().id().n(), ordered.epoch().n());
  crew_.Answer(call);
  LetGo();
  for (const v1::PartitionCopy& copy : crew_.machine.view().copies()) {
    EXPECT_EQ(copy.move().n(), ordered.epoch().n());
  }
}

TEST_F(ChiefMovesTest, NoSourceIsAskedBeforeTheViewThatOrdersItIsStored) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.hold_states = true;
  crew_.Advance(absl::Seconds(5));
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_THAT(crew_.move_orders, IsEmpty());
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.Advance(absl::Seconds(5));
  EXPECT_THAT(crew_.move_orders, Not(IsEmpty()));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
}

TEST_F(ChiefMovesTest, NobodyHearsOfTheNewOwnersBeforeTheyAreStored) {
  JoinAndHold(/*finish=*/true);
  crew_.hold_states = true;
  LetGo();
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
  EXPECT_THAT(crew_.machine.view().moves(), Not(IsEmpty())) << "the sources stand still";
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.AnswerCalls();
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
}

TEST_F(ChiefMovesTest, SourcesAreAskedUntilTheyAreDoneWithEachPhase) {
  crew_.moves_until_done = 3;
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(crew_.answered["Copy"], 8) << "and once more each, when both have copied";
  EXPECT_EQ(crew_.answered["Finish"], 6);
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
}

TEST_F(ChiefMovesTest, AnOrderThatIsNotUnderstoodYetIsRepeated) {
  crew_.move_status = absl::UnavailableError("its view does not name the move yet");
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(5));
  EXPECT_GE(crew_.move_orders.size(), 3u);
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
  crew_.move_status = absl::OkStatus();
  crew_.Advance(absl::Seconds(3));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
}

TEST_F(ChiefMovesTest, AShardWithoutPartitionsThatDiesIsNotMissed) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  EXPECT_THAT(MembersOf(crew_.machine.view()), Contains(2u));
  crew_.Stop(2);
  crew_.move_status = absl::UnavailableError("nothing moves");
  crew_.Advance(absl::Seconds(30));
  EXPECT_THAT(MembersOf(crew_.machine.view()), Not(Contains(2u)));
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_THAT(crew_.Status().shards(), SizeIs(2)) << "nobody waits for it";
  EXPECT_EQ(crew_.Status().waiting_for(), "");
  ExpectNothingLost();
}

class ChiefSmallBatchesTest : public ChiefMovesTest {
 protected:
  static CrewOptions Options() {
    CrewOptions options = TenTasks();
    options.move_batch = 1;
    return options;
  }
  ChiefSmallBatchesTest() : ChiefMovesTest(Options()) {}
};

TEST_F(ChiefSmallBatchesTest, ABatchIsOrderedWhenTheOneBeforeIsOver) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(5));
  const int moved = OwnedBy(crew_.machine.view(), 2);
  EXPECT_GE(moved, 2);
  EXPECT_EQ(crew_.answered["Finish"], moved);
  std::set<uint64_t> copies;
  for (const v1::PartitionCopy& copy : crew_.machine.view().copies())
    copies.insert(copy.move().n());
  EXPECT_THAT(copies, SizeIs(moved)) << "each by a move of its own";
}

TEST_F(ChiefSmallBatchesTest, WhatIsLeftOfAPlanForAShardThatHasGoneIsForgotten) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/false);
  const uint32_t first = crew_.machine.view().moves(0).to();
  const uint32_t other = first == 2 ? 3 : 2;
  (void)crew_.ShardHeartbeat(other, /*draining=*/true);
  EXPECT_TRUE(crew_.ShardHeartbeat(other, /*draining=*/true).may_leave());
  crew_.Stop(other);
  LetGo();
  crew_.Advance(absl::Seconds(30));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), other), 0);
  EXPECT_GE(OwnedBy(crew_.machine.view(), first), 2);
  ExpectNothingLost();
}

// ---- leaving ----

TEST_F(ChiefMovesTest, AShardThatLeavesHandsAllToTheOthersFirst) {
  crew_.draining = {1};
  EXPECT_FALSE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
  crew_.Advance(absl::Seconds(2));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 0), 8);
  EXPECT_EQ(MembersOf(crew_.machine.view()), std::set<uint32_t>{0});
  EXPECT_TRUE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
  EXPECT_THAT(crew_.saves, IsEmpty());
  crew_.Stop(1);
  crew_.Advance(absl::Seconds(30));
  EXPECT_THAT(crew_.Status().shards(), SizeIs(1));
  ExpectNothingLost();
}

TEST_F(ChiefMovesTest, ItMayNotLeaveBeforeTheViewWithoutItIsStored) {
  crew_.draining = {1};
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/true);
  crew_.hold_states = true;
  LetGo();
  EXPECT_FALSE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.AnswerCalls();
  EXPECT_TRUE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
}

TEST_F(ChiefMovesTest, OfThreeThatLeaveNoneGivesToAnother) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.Advance(absl::Seconds(5));
  crew_.draining = {1, 2, 3};
  crew_.move_orders.clear();
  crew_.Advance(absl::Seconds(3));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 0), 8);
  EXPECT_THAT(crew_.move_orders, SizeIs(9)) << "each partition moves once, in three steps";
  for (uint32_t shard : {1u, 2u, 3u}) {
    EXPECT_TRUE(crew_.ShardHeartbeat(shard, /*draining=*/true).may_leave());
  }
  ExpectNothingLost();
}

TEST_F(ChiefMovesTest, AShardThatIsRestartedIsEmptiedBeforeAndFilledAfter) {
  crew_.draining = {1};
  crew_.Advance(absl::Seconds(2));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 1), 0);
  crew_.draining = {};
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 1), 4);
  ExpectNothingLost();
}

TEST_F(ChiefMovesTest, WhereMovesFailTwiceItIsSaved) {
  crew_.move_status = absl::AbortedError("no room");
  crew_.draining = {1};
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(crew_.Status().moves().cancelled(), 8u);
  ASSERT_THAT(crew_.manifests, SizeIs(1));
  EXPECT_TRUE(crew_.saves.back().freeze());
  EXPECT_TRUE(crew_.ShardHeartbeat(1, /*draining=*/true).may_leave());
}

TEST_F(ChiefMovesTest, WhoWasToTakeAndLeavesAsWellIsNotGivenAnything) {
  crew_.draining = {1};
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/false);
  crew_.draining = {0, 1};
  crew_.ShardsHeartbeat();
  LetGo();
  crew_.Advance(absl::Seconds(2));
  EXPECT_THAT(crew_.machine.view().owners(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  ASSERT_THAT(crew_.manifests, SizeIs(1)) << "both are saved";
  for (uint32_t shard : {0u, 1u}) {
    EXPECT_TRUE(crew_.ShardHeartbeat(shard, /*draining=*/true).may_leave());
  }
}

TEST_F(ChiefMovesTest, ShardsThatASaveThatFailedHasClosedAreOpenedWhenSomebodyCanTake) {
  crew_.save_status = absl::InternalError("the store is full");
  crew_.draining = {0, 1};
  crew_.Advance(absl::Seconds(2));
  ASSERT_THAT(crew_.saves, Not(IsEmpty()));
  EXPECT_TRUE(crew_.saves.back().freeze());
  crew_.save_status = absl::OkStatus();
  crew_.saves.clear();
  crew_.move_orders.clear();
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(5));
  ASSERT_THAT(crew_.saves, SizeIs(2)) << "each is told once";
  for (const v1::SavePartitionsRequest& save : crew_.saves) EXPECT_FALSE(save.freeze());
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 8) << "and then hands over what it has";
  ExpectNothingLost();
}

TEST_F(ChiefMovesTest, AShardThatWasToLeaveAndIsKilledFirstIsNotWaitedForForEver) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.Advance(absl::Seconds(5));
  crew_.TakeCheckpoint();
  crew_.hold_calls = true;
  (void)crew_.ShardHeartbeat(1, /*draining=*/true);
  crew_.Stop(1);
  crew_.Advance(absl::Seconds(29));
  LetGo();
  EXPECT_THAT(crew_.machine.view().owners(), Contains(1u));
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew_.machine.view().timeline(), timeline_ + 1);
  EXPECT_THAT(crew_.machine.view().owners(), Each(testing::AnyOf(0u, 3u)));
  EXPECT_EQ(crew_.Status().waiting_for(), "");
  ASSERT_THAT(crew_.Status().losses(), SizeIs(1));
  EXPECT_THAT(crew_.Status().losses(0).cause(), HasSubstr("shard 1 was to leave"));
}

// ---- what people see and ask ----

TEST_F(ChiefMovesTest, WhatIsUnderWayAndWhyIsTold) {
  JoinAndHold(/*finish=*/false);
  const v1::MoveStatus moves = crew_.Status().moves();
  EXPECT_GE(moves.under_way(), 2u);
  EXPECT_EQ(moves.why(), "shard 2 has joined");
}

TEST_F(ChiefMovesTest, ARebalanceThatIsAskedForEvensBytesAndAPlanMovesNothing) {
  for (uint32_t shard : {0u, 1u}) {
    for (uint32_t partition = shard; partition < 8; partition += 2) {
      v1::PartitionLoad& load = *crew_.reports[shard].add_partitions();
      load.set_partition(partition);
      load.set_bytes(shard == 0 ? 3000 : 1000);
    }
  }
  crew_.Advance(absl::Seconds(10));
  EXPECT_THAT(crew_.move_orders, IsEmpty()) << "nobody has asked for it";
  v1::RebalanceRequest request;
  request.set_plan_only(true);
  const auto plan = crew_.machine.Rebalance(request, crew_.now);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->byte_skew_before(), 1.5, 0.01);
  EXPECT_LT(plan->byte_skew_after(), 1.3);
  ASSERT_THAT(plan->moves(), Not(IsEmpty()));
  crew_.Advance(absl::Seconds(5));
  EXPECT_THAT(crew_.move_orders, IsEmpty());

  request.set_plan_only(false);
  ASSERT_TRUE(crew_.machine.Rebalance(request, crew_.now).ok());
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 0), 4 - plan->moves_size());
  ExpectNothingLost();
}

TEST_F(ChiefMovesTest, AJobThatDoesNotTrainIsNotRebalanced) {
  Crew waiting(TenTasks());
  EXPECT_EQ(waiting.machine.Rebalance({}, waiting.now).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace capstan::chief
