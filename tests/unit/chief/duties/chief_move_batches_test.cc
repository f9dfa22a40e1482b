// The chief's machine: what a batch of moves waits for, and what ends it early.
#include <string>

#include "tests/unit/chief/duties/moves_job.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// ---- what ends a batch early ----

// Both phases of a batch.
class ChiefMovesPhaseTest : public ChiefMovesTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Phases, ChiefMovesPhaseTest, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Finishing") : std::string("Copying");
});

TEST_P(ChiefMovesPhaseTest, ATargetThatIsStartedAnewCancelsAndIsGivenItsShareLater) {
  JoinAndHold(GetParam());
  ASSERT_TRUE(crew_.RegisterShard(2, 99).ok());
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
  LetGo();
  crew_.Advance(absl::Seconds(10));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
  EXPECT_GE(crew_.Status().moves().cancelled(), 2u);
  ExpectNothingLost();
}

TEST_P(ChiefMovesPhaseTest, ASourceThatDiesSendsEverybodyBackAndNothingStaysOnItsWay) {
  JoinAndHold(GetParam());
  ASSERT_TRUE(crew_.RegisterShard(1, 99).ok());
  LetGo();
  crew_.Advance(absl::Seconds(1));
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew_.machine.view().timeline(), timeline_ + 1);
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_THAT(crew_.machine.view().copies(), IsEmpty());
  crew_.Advance(absl::Seconds(10));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2) << "in the next timeline it gets its share";
  EXPECT_EQ(crew_.answered["Join 2"], 1);
}

TEST_P(ChiefMovesPhaseTest, ASourceThatCannotCancelsAndItIsTriedAgain) {
  JoinAndHold(GetParam());
  crew_.move_status = absl::AbortedError("the target refuses");
  LetGo();
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
  crew_.move_status = absl::OkStatus();
  crew_.Advance(absl::Seconds(10));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
  ExpectNothingLost();
}

TEST_P(ChiefMovesPhaseTest, WithoutProgressABatchIsGivenUp) {
  JoinAndHold(GetParam());
  crew_.Advance(absl::Seconds(29));
  EXPECT_THAT(crew_.machine.view().moves(), Not(IsEmpty()));
  crew_.Advance(absl::Seconds(2));
  EXPECT_GE(crew_.Status().moves().cancelled(), 2u);
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
}

TEST_P(ChiefMovesPhaseTest, TheNextChiefCancelsWhatItsPredecessorHadUnderWay) {
  JoinAndHold(GetParam());
  ASSERT_THAT(crew_.states.back().view().moves(), Not(IsEmpty()));
  Crew next = Crew::Successor(options_, crew_);
  next.ShardsHeartbeat();
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  ASSERT_THAT(next.views, Not(IsEmpty()));
  EXPECT_THAT(next.views.front().moves(), IsEmpty());
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
  EXPECT_THAT(next.loads, IsEmpty());
  EXPECT_THAT(next.states.back().view().moves(), IsEmpty());
  next.Advance(absl::Seconds(5));
  EXPECT_GE(OwnedBy(next.machine.view(), 2), 2) << "the next one gives it its share";
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
}

TEST_P(ChiefMovesPhaseTest, TheEndOfTheJobCancels) {
  JoinAndHold(GetParam());
  crew_.machine.StopJob("", crew_.now);
  crew_.AnswerCalls();
  EXPECT_THAT(crew_.machine.view().moves(), IsEmpty());
  LetGo();
  crew_.Heartbeat("w");
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(OwnedBy(crew_.machine.view(), 2), 0);
}

TEST_P(ChiefMovesPhaseTest, ACheckpointWaitsForTheBatch) {
  JoinAndHold(GetParam());
  crew_.TakeCheckpoint();
  crew_.Advance(absl::Seconds(2));
  EXPECT_THAT(crew_.saves, IsEmpty());
  LetGo();
  crew_.Advance(absl::Milliseconds(500));
  EXPECT_THAT(crew_.manifests, SizeIs(1));
  EXPECT_THAT(crew_.saves, SizeIs(3)) << "of the new owner as well";
}

TEST_F(ChiefMovesTest, TheNextChiefKnowsOfCopiesThatWereSwitched) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(5));
  const v1::View before = crew_.machine.view();
  ASSERT_THAT(before.copies(), Not(IsEmpty()));
  Crew next = Crew::Successor(options_, crew_);
  next.ShardsHeartbeat();
  ASSERT_EQ(next.machine.view().copies_size(), before.copies_size());
  EXPECT_EQ(next.machine.view().copies(0).move().n(), before.copies(0).move().n());
  EXPECT_EQ(next.machine.view().copies(0).move().term(), 1u);
  EXPECT_THAT(next.machine.view().owners(), Contains(2u));
}

TEST_F(ChiefMovesTest, ABatchWaitsForTheCheckpoint) {
  crew_.hold_calls = true;
  crew_.TakeCheckpoint();
  ASSERT_THAT(crew_.held, SizeIs(2));
  std::vector<CallShard> saves = std::exchange(crew_.held, {});
  crew_.hold_calls = false;
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.Advance(absl::Seconds(6));
  EXPECT_THAT(MembersOf(crew_.machine.view()), Contains(2u));
  EXPECT_THAT(crew_.move_orders, IsEmpty());
  for (const CallShard& call : saves) crew_.Answer(call);
  crew_.Advance(absl::Seconds(1));
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
}

TEST_F(ChiefMovesTest, ASwitchWaitsUntilEveryShardHasClosedTheStreams) {
  JoinAndHold(/*finish=*/false);
  // A task is done, and one of the shards does not answer.
  crew_.Heartbeat("w", {Crew::Done(leases_.leases(0))});
  crew_.Advance(absl::Seconds(2));
  std::vector<CallShard> closes;
  std::erase_if(crew_.held, [&](const CallShard& call) {
    if (!call.request.Is<v1::CloseStreamsRequest>()) return false;
    closes.push_back(call);
    return true;
  });
  ASSERT_THAT(closes, SizeIs(2));
  LetGo();
  crew_.Answer(closes[0]);
  // Another one is done: its stream is not closed before the switch.
  crew_.Heartbeat("w", {Crew::Done(leases_.leases(1))});
  crew_.Advance(absl::Seconds(2));
  EXPECT_EQ(crew_.answered["Finish"], 0);
  EXPECT_EQ(crew_.answered["Close"], 1);
  crew_.Answer(closes[1]);
  crew_.Advance(absl::Milliseconds(500));
  EXPECT_GE(crew_.answered["Finish"], 1);
  crew_.Advance(absl::Seconds(1));
  EXPECT_THAT(crew_.order.back(), "Close") << "the other one's";
  EXPECT_THAT(crew_.closed[2], SizeIs(1)) << "what was closed before came with its partitions";
}

// ---- rounds ----

TEST_F(ChiefLaneMovesTest, PartitionsChangeTheirOwnerAtARoundBarrier) {
  ASSERT_TRUE(crew_.RegisterShard(2).ok());
  crew_.round = 3;
  crew_.lane_cursors = {3, 3};
  crew_.Advance(absl::Seconds(5));
  const auto at = [&](const std::string& name) {
    return std::find(crew_.order.begin(), crew_.order.end(), name);
  };
  ASSERT_NE(at("Finish"), crew_.order.end());
  EXPECT_LT(at("Copy"), at("Hold"));
  EXPECT_LT(at("Hold"), at("Commit 3"));
  EXPECT_LT(at("Commit 3"), at("Finish"));
  EXPECT_EQ(crew_.order.back(), "Release");
  EXPECT_GE(OwnedBy(crew_.machine.view(), 2), 2);
  ExpectNothingLost();
}

TEST_F(ChiefLaneMovesTest, RoundsAreLetGoOnByTheCoordinatorThatTheyHaveMovedTo) {
  crew_.draining = {0};
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/true);
  EXPECT_EQ(crew_.machine.view().owners(0), 0u);
  const CallShard finish = TakeMove(crew_, /*finish=*/true);
  crew_.Answer(finish);
  crew_.AnswerCalls();
  EXPECT_EQ(crew_.machine.view().owners(0), 1u);
  const auto lets_go_on = [](const CallShard& call) {
    const auto* hold = call.request.As<v1::HoldRoundsRequest>();
    return hold != nullptr && !hold->hold();
  };
  const auto release = std::find_if(crew_.held.begin(), crew_.held.end(), lets_go_on);
  ASSERT_NE(release, crew_.held.end());
  EXPECT_EQ(release->shard, 1u);
}

TEST_F(ChiefLaneMovesTest, ACancelledMoveLetsTheRoundsGoOn) {
  JoinAndHold(/*finish=*/true);
  crew_.move_status = absl::AbortedError("no");
  crew_.order.clear();
  LetGo();
  crew_.Advance(absl::Milliseconds(500));
  EXPECT_THAT(crew_.order, Contains("Release"));
  EXPECT_EQ(crew_.machine.view().owners(0), 0u);
}

TEST_F(ChiefLaneMovesTest, ACheckpointThatIsDueMeanwhileIsTakenAtABarrierOfItsOwn) {
  JoinAndHold(/*finish=*/true);
  crew_.TakeCheckpoint();
  LetGo();
  crew_.Advance(absl::Seconds(1));
  EXPECT_THAT(crew_.manifests, SizeIs(1));
  EXPECT_EQ(crew_.order.back(), "Release");
  EXPECT_THAT(crew_.saves, SizeIs(3));
}

}  // namespace
}  // namespace capstan::chief
