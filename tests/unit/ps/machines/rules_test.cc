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

}  // namespace
}  // namespace capstan::ps
