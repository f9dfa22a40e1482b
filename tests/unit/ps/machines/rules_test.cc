// The rules that model checking found (docs/spec/README.md), each by its number. Here is what one
// machine does about it; tests/simulation shows that together they suffice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ps/machines/testing.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using Opened = v1::OpenRoundReply;
using Reported = v1::ReportLaneReply;

PartitionMachine Async() { return PartitionMachine(Both(Policy(v1::POLICY_KIND_ASYNC))); }
PartitionMachine Sync() { return PartitionMachine(Both(Policy(v1::POLICY_KIND_SYNC))); }

TEST(Rule1, TheCoordinatorRefusesReportsOfLowerGenerationsOnceARunnerHasAnnouncedItself) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 0, kSecond);
  EXPECT_EQ(Report(coordinator, 0, kFirst, 1), Reported::ANSWER_OLD_GENERATION);
  EXPECT_EQ(Open(coordinator, 0, kFirst).answer, Opened::ANSWER_OLD_GENERATION);
}

TEST(Rule1, ARunnerThatHasNotAnnouncedItselfIsNotCounted) {
  CoordinatorMachine coordinator(1, 0);
  Open(coordinator, 0, kFirst);
  EXPECT_EQ(Report(coordinator, 0, kSecond, 1), Reported::ANSWER_LATE);
  EXPECT_EQ(coordinator.open_round(), 1u);
}

TEST(Rule1, ANewRunnerOfALaneThatHasArrivedWaits) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  EXPECT_EQ(Open(coordinator, 0, kSecond, 7).answer, Opened::ANSWER_WAIT);
  Open(coordinator, 1, kFirst);
  Report(coordinator, 1, kFirst, 1);
  EXPECT_EQ(coordinator.last_closed().lanes[0].generation, kFirst);
}

TEST(Rule1, AShardAppliesOnlyTheGenerationThatTheRoundCommitNames) {
  PartitionMachine machine = Sync();
  Stage(machine, 0, 1, 10, kFirst);
  Stage(machine, 0, 1, 20, kSecond);
  EXPECT_EQ(Stage(machine, 0, 1, 11, kFirst).outcome, v1::OUTCOME_OLD_GENERATION);
  const RoundCommit set{1, {{LaneIndex{0}, kFirst, 8}}};
  const Decision decision = machine.CatchUp(std::span(&set, 1));
  EXPECT_TRUE(decision.updates.empty());
  EXPECT_THAT(Discarded(decision), ElementsAre(20));
}

TEST(Rule2, AGenerationOfALaterTermIsHigherWhateverItsCount) {
  CoordinatorMachine coordinator(1, 0);
  Open(coordinator, 0, {1, 99});
  EXPECT_EQ(Open(coordinator, 0, {2, 1}).answer, Opened::ANSWER_OPEN);
  EXPECT_EQ(Open(coordinator, 0, {1, 100}).answer, Opened::ANSWER_OLD_GENERATION);
}

TEST(Rule3, TheLastRoundIsAppliedWhenItsSetIsCarriedWithoutARequestOfTheNext) {
  PartitionMachine machine = Sync();
  Stage(machine, 0, 1, 10);
  EXPECT_EQ(machine.version(Part::kDense), 0u);
  const RoundCommit last{1, {{LaneIndex{0}, kFirst, 8}}};
  EXPECT_EQ(machine.CatchUp(std::span(&last, 1)).updates.size(), 1u);
}

TEST(Rule35, ACommitThatIsHeardAgainOrTooEarlyClosesNothing) {
  PartitionMachine machine = Sync();
  Stage(machine, 0, 1, 10);
  const RoundCommit first{1, {{LaneIndex{0}, kFirst, 8}}};
  EXPECT_EQ(machine.CatchUp(std::span(&first, 1)).updates.size(), 1u);
  Stage(machine, 0, 2, 11);
  EXPECT_TRUE(machine.CatchUp(std::span(&first, 1)).updates.empty());
  const RoundCommit third{3, {{LaneIndex{0}, kFirst, 8}}};
  EXPECT_TRUE(machine.CatchUp(std::span(&third, 1)).updates.empty());
  EXPECT_EQ(machine.round(), 1u);
}

TEST(Rule4, ALaneWithoutDataLeavesTheCountAndIsNotAnArrival) {
  CoordinatorMachine coordinator(2, /*backup_workers=*/1);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 1, kFirst);
  EXPECT_EQ(Report(coordinator, 1, kFirst, 1, /*end_of_data=*/true), Reported::ANSWER_COUNTED);
  EXPECT_EQ(coordinator.open_round(), 1u) << "an empty lane must not close the round";
  Report(coordinator, 0, kFirst, 1);
  EXPECT_EQ(coordinator.open_round(), 2u);
  EXPECT_EQ(coordinator.last_closed().lanes.size(), 1u);
}

TEST(Rule4, TheEndOfALaneMayCloseTheRoundOfTheOthers) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 1, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Report(coordinator, 1, kFirst, 1, /*end_of_data=*/true);
  EXPECT_EQ(coordinator.open_round(), 2u);
  Report(coordinator, 0, kFirst, 2, /*end_of_data=*/true);
  EXPECT_TRUE(coordinator.ended());
  EXPECT_EQ(coordinator.open_round(), 2u);
}

// A checkpoint stands at a round that the coordinator holds, never at one that a view names.
TEST(Rule5, TheCoordinatorNamesTheRoundOfABarrierAndOpensNoneUntilReleased) {
  CoordinatorMachine coordinator(1, 0);
  Open(coordinator, 0, kFirst);
  coordinator.Hold(WaiterId{9}, absl::InfiniteFuture());
  const auto result = coordinator.Report({LaneIndex{0}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  EXPECT_EQ(std::get<HoldAnswer>(result.answers[0].answer).last.round, 1u);
  EXPECT_EQ(Open(coordinator, 0, kFirst, 2).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
}

TEST(Rule6, AShardClosesNoRoundByItself) {
  PartitionMachine machine = Sync();
  for (int lane = 0; lane < 8; ++lane) {
    EXPECT_TRUE(Stage(machine, lane, 1, 10 + static_cast<uint64_t>(lane)).updates.empty());
  }
  EXPECT_EQ(machine.round(), 0u);
}

TEST(Rule7, APartitionWithASynchronousPartDoesNotRecoverPartially) {
  PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  EXPECT_TRUE(PartitionMachine::RecoverPartially(options, {}, {}, kNow).ok());
  options.dense = Policy(v1::POLICY_KIND_SYNC);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      PartitionMachine::RecoverPartially(options, {}, {}, kNow).status()));
}

TEST(Rule8, TheLowWatermarkMovesThePrefixOverSeqsThatNeverTouchedThePartition) {
  PartitionMachine machine = Async();
  EXPECT_EQ(Push(machine, 500, 10).outcome, v1::OUTCOME_OUTSIDE_WINDOW);
  EXPECT_EQ(Push(machine, 500, 11, kFirst, /*low_watermark=*/498).outcome, v1::OUTCOME_APPLIED);
  EXPECT_EQ(machine.lost(), 0u) << "no loss where nothing recovered partially";
}

TEST(Rule8, TheGapIsLossOnAPartitionThatCameBackAlone) {
  const PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  const StreamFacts told{.open = {{kTask, kFirst, 0}}, .closed = {}};
  PartitionMachine machine = PartitionMachine::RecoverPartially(options, {}, told, kNow).value();
  Push(machine, 3, 10, kFirst, /*low_watermark=*/3);
  EXPECT_EQ(machine.lost(), 3u);
}

TEST(Rule9, ACloseRevealsWhatIsMissing) {
  const PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  const StreamFacts told{.open = {{kTask, kFirst, 0}}, .closed = {}};
  PartitionMachine machine = PartitionMachine::RecoverPartially(options, {}, told, kNow).value();
  Push(machine, 1, 10);
  EXPECT_TRUE(machine.CloseStream(kLine, kTask, /*batches=*/4));
  EXPECT_TRUE(machine.CloseStream(kLine, kTask, /*batches=*/4)) << "repeated until answered";
  // Sparse lacks 0, 2 and 3; dense has seen none of the four.
  EXPECT_EQ(machine.lost(), 7u);
}

TEST(Rule10, APartitionThatComesBackAloneIsToldTheFencesBeforeItServes) {
  const PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  const StreamFacts told{.open = {{kTask, kSecond, 2}}, .closed = {}};
  PartitionMachine machine = PartitionMachine::RecoverPartially(options, {}, told, kNow).value();
  EXPECT_EQ(Push(machine, 5, 10, kFirst).outcome, v1::OUTCOME_OLD_GENERATION);
  EXPECT_EQ(Push(machine, 1, 11, kSecond).outcome, v1::OUTCOME_SETTLED);
  EXPECT_EQ(Push(machine, 2, 12, kSecond).outcome, v1::OUTCOME_APPLIED);
}

TEST(Rule36, APartitionThatComesBackAloneListensToNoLeaseOfWhichItsChiefDoesNotKnow) {
  const PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  const StreamFacts told{.open = {}, .closed = {}, .term = kFirst.term + 1};
  PartitionMachine machine = PartitionMachine::RecoverPartially(options, {}, told, kNow).value();
  EXPECT_EQ(Push(machine, 2, 10, kFirst, /*low_watermark=*/2).outcome, v1::OUTCOME_OLD_GENERATION);
  EXPECT_EQ(Push(machine, 0, 11, {kFirst.term + 1, 1}).outcome, v1::OUTCOME_APPLIED);
  EXPECT_EQ(machine.lost(), 0u);
}

TEST(Rule37, ACloseAfterAReturnRevealsWhatAPartitionLostBeforeTheCheckpoint) {
  const PartitionOptions options = Both(Policy(v1::POLICY_KIND_ASYNC));
  const StreamFacts told{.open = {{kTask, kFirst, 0}}, .closed = {}};
  const PartitionMachine alone =
      PartitionMachine::RecoverPartially(options, {}, told, kNow).value();
  PartitionMachine machine(options, alone.Snapshot(), kNow);
  EXPECT_TRUE(machine.CloseStream(kLine, kTask, /*batches=*/4));
  EXPECT_EQ(machine.lost(Part::kSparse), 4u);
}

TEST(Rule11, APushOfAClosedStreamIsSettledWhoeverSendsIt) {
  PartitionMachine machine = Async();
  Push(machine, 0, 10, kSecond);
  machine.CloseStream(kLine, kTask, 1);
  EXPECT_EQ(Push(machine, 0, 11, kFirst).outcome, v1::OUTCOME_SETTLED);
  EXPECT_EQ(Push(machine, 7, 12, kSecond).outcome, v1::OUTCOME_SETTLED);
}

TEST(Rule12, PushesAndClosesOfAnotherTimelineAreRefused) {
  PartitionMachine machine = Async();
  const Timeline other{2};
  const StreamGradient gradient{{kTask, 0, kFirst, 0}, 0, GradientHandle{10}};
  EXPECT_EQ(machine.PushStream(Part::kSparse, other, gradient, kNow).outcome,
            v1::OUTCOME_NOT_OWNER);
  EXPECT_FALSE(machine.CloseStream(other, kTask, 1));
  EXPECT_EQ(Push(machine, 0, 11).outcome, v1::OUTCOME_APPLIED);
  PartitionMachine sync = Sync();
  const LaneGradient lane{LaneIndex{0}, kFirst, 1, GradientHandle{12}};
  EXPECT_EQ(sync.PushStage(Part::kDense, other, lane).outcome, v1::OUTCOME_NOT_OWNER);
}

TEST(Rule13, ALaneThatCameTooLateIsOfferedTheSameBatchAgain) {
  CoordinatorMachine coordinator(2, /*backup_workers=*/1);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 1, kFirst);
  EXPECT_EQ(Report(coordinator, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(Report(coordinator, 1, kFirst, 1), Reported::ANSWER_LATE);
  EXPECT_EQ(Open(coordinator, 0, kFirst).cursor, 1u);
  EXPECT_EQ(Open(coordinator, 1, kFirst).cursor, 0u);
}

LaneNews News(uint64_t round, std::vector<ClosedLane> counted, std::vector<LaneIndex> ended = {}) {
  return {round, std::move(counted), std::move(ended)};
}

std::vector<uint64_t> Added(PartitionMachine& machine, const LaneCounts& counts) {
  std::vector<uint64_t> handles;
  for (const Addition& addition : machine.AddCounted(counts).additions) {
    handles.push_back(static_cast<uint64_t>(addition.handle));
  }
  return handles;
}

TEST(Rule19, AShardAddsWhatTheCoordinatorHasCountedUnderTheGenerationThatItCounted) {
  PartitionMachine machine = Sync();
  LaneCounts counts(kLine);
  Stage(machine, 0, 1, 10, kFirst);
  EXPECT_THAT(Added(machine, counts), ElementsAre()) << "staged, but not counted";
  Stage(machine, 0, 1, 20, kSecond);
  counts.Learn(News(1, {{LaneIndex{0}, kSecond, 8}}));
  const Decision decision = machine.AddCounted(counts);
  ASSERT_EQ(decision.additions.size(), 1u);
  EXPECT_EQ(decision.additions[0].handle, GradientHandle{20});
  EXPECT_EQ(decision.additions[0].lane, LaneIndex{0});
  EXPECT_EQ(decision.additions[0].generation, kSecond);
  EXPECT_THAT(Added(machine, counts), ElementsAre()) << "once";
}

TEST(Rule19, ARepeatedStageOfWhatIsInTheSumIsAcknowledgedAndChangesNothing) {
  PartitionMachine machine = Sync();
  LaneCounts counts(kLine);
  Stage(machine, 0, 1, 10);
  counts.Learn(News(1, {{LaneIndex{0}, kFirst, 8}}));
  Added(machine, counts);
  const Decision again = Stage(machine, 0, 1, 11);
  EXPECT_EQ(again.outcome, v1::OUTCOME_STAGED);
  EXPECT_THAT(Discarded(again), ElementsAre(11));
  const RoundCommit set{1, {{LaneIndex{0}, kFirst, 8}}};
  const Decision closed = machine.CatchUp(std::span(&set, 1));
  ASSERT_EQ(closed.updates.size(), 1u);
  EXPECT_EQ(closed.updates[0].added, 1u);
  EXPECT_TRUE(closed.updates[0].contributions.empty());
}

TEST(Rule20, ALaneIsAddedWhenAllLowerOnesAreOrAreAtTheirEnd) {
  PartitionMachine machine = Sync();
  LaneCounts counts(kLine);
  for (int lane : {1, 2, 3}) Stage(machine, lane, 1, 10 + static_cast<uint64_t>(lane));
  counts.Learn(News(1, {{LaneIndex{3}, kFirst, 8}, {LaneIndex{1}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, counts), ElementsAre()) << "lane 0 is still to come";
  counts.Learn(News(1, {}, {LaneIndex{0}}));
  EXPECT_THAT(Added(machine, counts), ElementsAre(11));
  counts.Learn(News(1, {{LaneIndex{2}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, counts), ElementsAre(12, 13));
}

TEST(Rule20, ACountedLaneThatHasNothingForThePartitionHoldsNobodyUp) {
  PartitionMachine machine = Sync();
  LaneCounts counts(kLine);
  Stage(machine, 1, 1, 11);
  counts.Learn(News(1, {{LaneIndex{0}, kFirst, 8}, {LaneIndex{1}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, counts), ElementsAre(11));
}

TEST(Rule21, TheLowestLaneThatIsStillToComeIsNext) {
  LaneCounts counts(kLine);
  counts.Learn(News(1, {{LaneIndex{0}, kFirst, 8}, {LaneIndex{2}, kFirst, 8}}, {LaneIndex{1}}));
  EXPECT_EQ(counts.NextOf(1), LaneIndex{3});
  EXPECT_EQ(counts.NextOf(2), LaneIndex{0}) << "nothing is counted in the round after it";
  counts.Learn(News(2, {}, {LaneIndex{0}}));
  EXPECT_EQ(counts.NextOf(2), LaneIndex{2});
}

TEST(Rule22, TheRoundCommitAddsWhatTheSumLacksAndOnlyThenIsTheDivisorKnown) {
  PartitionMachine machine = Sync();
  LaneCounts counts(kLine);
  Stage(machine, 0, 1, 10);
  Stage(machine, 1, 1, 11);
  counts.Learn(News(1, {{LaneIndex{0}, kFirst, 6}}));
  EXPECT_EQ(machine.AddCounted(counts).additions[0].weight, 6);
  const RoundCommit set{1, {{LaneIndex{0}, kFirst, 6}, {LaneIndex{1}, kFirst, 2}}};
  const Decision closed = machine.CatchUp(std::span(&set, 1));
  ASSERT_EQ(closed.updates.size(), 1u);
  EXPECT_THAT(Handles(closed.updates[0]), ElementsAre(11));
  EXPECT_EQ(closed.updates[0].contributions[0].weight, 2);
  EXPECT_EQ(closed.updates[0].scale, 1.0 / 8);
}

TEST(Rule22, NewsOfAnotherTimelineOrRoundChangeNothing) {
  PartitionMachine machine = Sync();
  Stage(machine, 0, 1, 10);
  LaneCounts other(Timeline{2});
  other.Learn(News(1, {{LaneIndex{0}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, other), ElementsAre());
  LaneCounts later(kLine);
  later.Learn(News(2, {{LaneIndex{0}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, later), ElementsAre());
  later.Learn(News(1, {{LaneIndex{0}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, later), ElementsAre()) << "an earlier round than the one it knows";
}

TEST(Rule19, WithBackupWorkersNothingIsAddedAhead) {
  v1::UpdatePolicy policy = Policy(v1::POLICY_KIND_SYNC);
  policy.set_backup_workers(1);
  PartitionMachine machine(Both(policy));
  LaneCounts counts(kLine);
  Stage(machine, 0, 1, 10);
  counts.Learn(News(1, {{LaneIndex{0}, kFirst, 8}}));
  EXPECT_THAT(Added(machine, counts), ElementsAre());
}

TEST(Rule23, OnItsWayAPartitionTakesNothingInToAQueueEither) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC, /*aggregate=*/3)));
  EXPECT_EQ(Push(machine, 0, 10).outcome, v1::OUTCOME_QUEUED);
  EXPECT_EQ(machine.Flush().updates.size(), 1u);
  ASSERT_TRUE(machine.BeginMove());
  EXPECT_EQ(Push(machine, 1, 11).outcome, v1::OUTCOME_BUSY);
  EXPECT_EQ(machine.queued(), 0u);
  EXPECT_TRUE(machine.GoOn().updates.empty()) << "nor when a copy has been read";
  EXPECT_EQ(Push(machine, 1, 12).outcome, v1::OUTCOME_BUSY);
  machine.EndMove();
  EXPECT_EQ(Push(machine, 0, 13).outcome, v1::OUTCOME_SETTLED);
  EXPECT_EQ(Push(machine, 1, 14).outcome, v1::OUTCOME_QUEUED);
}

TEST(Rule25, WhatIsStagedDoesNotMove) {
  PartitionMachine machine = Sync();
  ASSERT_EQ(Stage(machine, 0, 1, 10).outcome, v1::OUTCOME_STAGED);
  EXPECT_FALSE(machine.BeginMove());
  EXPECT_FALSE(machine.moving());
  const std::vector<RoundCommit> first = {{1, {{LaneIndex{0}, kFirst, 1}}}};
  machine.CatchUp(first);
  ASSERT_TRUE(machine.BeginMove());
  EXPECT_EQ(Stage(machine, 0, 2, 11).outcome, v1::OUTCOME_BUSY);
  const std::vector<RoundCommit> second = {{2, {{LaneIndex{0}, kFirst, 1}}}};
  machine.CatchUp(second);
  EXPECT_EQ(machine.round(), 1u) << "no round is passed on the way";
  EXPECT_EQ(machine.AdmitPull(2), PullAdmission::kGo) << "exactly the rounds below 2 are here";
  machine.EndMove();
  machine.CatchUp(second);
  EXPECT_EQ(machine.round(), 2u);
}

TEST(Rule25, NorWhatIsAddedAheadOfItsRound) {
  PartitionMachine machine = Sync();
  ASSERT_EQ(Stage(machine, 0, 1, 10).outcome, v1::OUTCOME_STAGED);
  LaneCounts counts(kLine);
  counts.Learn({1, {{LaneIndex{0}, kFirst, 1}}, {}});
  ASSERT_EQ(machine.AddCounted(counts).additions.size(), 1u);
  EXPECT_FALSE(machine.BeginMove());
}

TEST(Rule26, TheNextCoordinatorListensToWhomTheLastOneDid) {
  CoordinatorMachine first(/*lanes=*/1, /*backup_workers=*/0);
  ASSERT_EQ(Open(first, 0, kSecond).answer, Opened::ANSWER_OPEN);
  EXPECT_FALSE(first.counting());
  ASSERT_TRUE(first.Report({LaneIndex{0}, kSecond, 1, 1, false}).ok());
  EXPECT_EQ(first.open_round(), 2u);
  CoordinatorMachine next(/*backup_workers=*/0, first.state());
  EXPECT_EQ(Open(next, 0, kFirst).answer, Opened::ANSWER_OLD_GENERATION);
  const auto again = next.Report({LaneIndex{0}, kSecond, 1, 1, false});
  EXPECT_EQ(again->answer, v1::ReportLaneReply::ANSWER_COUNTED) << "its answer may have been lost";
  EXPECT_EQ(next.state().lanes[0].cursor, 1u);
}

TEST(Rule26, ACoordinatorThatHasCountedSomebodySaysSo) {
  CoordinatorMachine coordinator(/*lanes=*/2, /*backup_workers=*/0);
  ASSERT_EQ(Open(coordinator, 0, kFirst).answer, Opened::ANSWER_OPEN);
  ASSERT_TRUE(coordinator.Report({LaneIndex{0}, kFirst, 1, 1, false}).ok());
  EXPECT_TRUE(coordinator.counting());
}

}  // namespace
}  // namespace capstan::ps
