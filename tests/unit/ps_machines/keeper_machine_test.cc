#include "ps/keeper_machine.h"

#include <gtest/gtest.h>

#include "tests/unit/ps_machines/testing.h"

namespace capstan::ps {
namespace {

using Opened = v1::OpenRoundReply;
using Reported = v1::ReportLaneReply;

TEST(KeeperTest, ARoundClosesWhenAllLanesAreIn) {
  KeeperMachine keeper(/*lanes=*/2, /*backup_workers=*/0);
  EXPECT_EQ(Open(keeper, 0, kFirst).answer, Opened::ANSWER_OPEN);
  EXPECT_EQ(Open(keeper, 1, kFirst).round, 1u);
  EXPECT_EQ(Report(keeper, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(keeper.open_round(), 1u);
  EXPECT_EQ(Report(keeper, 1, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(keeper.open_round(), 2u);
  const OpenAnswer next = Open(keeper, 0, kFirst);
  EXPECT_EQ(next.round, 2u);
  EXPECT_EQ(next.cursor, 1u);
  EXPECT_EQ(next.closed.lanes.size(), 2u);
}

TEST(KeeperTest, WhoHasReportedWaitsForTheNextRound) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  EXPECT_EQ(Open(keeper, 0, kFirst, 7).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  Open(keeper, 1, kFirst);
  const auto result = keeper.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  EXPECT_EQ(result.answers[0].waiter, WaiterId{7});
  EXPECT_EQ(std::get<OpenAnswer>(result.answers[0].answer).round, 2u);
}

TEST(KeeperTest, AfterTheLastRoundNoneOpensAndWhoeverWaitsHearsThatItIsClosed) {
  KeeperMachine keeper(/*lanes=*/2, /*backup_workers=*/0, /*max_rounds=*/1);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  Open(keeper, 0, kFirst, 7);
  Open(keeper, 1, kFirst);
  const auto result = keeper.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  const auto& told = std::get<OpenAnswer>(result.answers[0].answer);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.closed.round, 1u);
  EXPECT_EQ(Open(keeper, 1, kFirst, 8).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  EXPECT_FALSE(keeper.ended());
}

TEST(KeeperTest, ALaneThatWaitsInAnOpenRoundIsToldOfTheRoundBefore) {
  KeeperMachine keeper(/*lanes=*/2, /*backup_workers=*/0, /*max_rounds=*/1);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  const OpenAnswer told = Open(keeper, 0, kSecond, 8);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.closed.round, 0u);
}

TEST(KeeperTest, EveryWaitHasADeadline) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  Open(keeper, 0, kFirst, 7);
  EXPECT_EQ(keeper.NextWake(), kNow + absl::Seconds(5));
  const KeeperAnswers answers = keeper.Tick(kNow + absl::Seconds(5));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(answers[0].answer).answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(keeper.NextWake(), absl::InfiniteFuture());
}

TEST(KeeperTest, ANewHolderReleasesTheOldOnesWait) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  Open(keeper, 0, kFirst, 7);
  const KeeperAnswers answers =
      keeper.Open({WaiterId{8}, LaneIndex{0}, kSecond, kNow + absl::Seconds(5)}, kNow).value();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].waiter, WaiterId{7});
  EXPECT_EQ(std::get<OpenAnswer>(answers[0].answer).answer, Opened::ANSWER_OLD_GENERATION);
}

TEST(KeeperTest, ANewHolderOfALaneThatIsInIsToldAtOnceWhichRoundIsNext) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  const OpenAnswer told = Open(keeper, 0, kSecond, 8);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.round, 2u);
  EXPECT_EQ(Open(keeper, 0, kSecond, 9).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
}

TEST(KeeperTest, ARepeatedReportOfACountedGradientIsCounted) {
  KeeperMachine keeper(1, 0);
  Open(keeper, 0, kFirst);
  EXPECT_EQ(Report(keeper, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(Report(keeper, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(keeper.open_round(), 2u);
}

TEST(KeeperTest, RefusesLanesThatDoNotExist) {
  KeeperMachine keeper(2, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(
      keeper.Open({WaiterId{1}, LaneIndex{2}, kFirst, kNow}, kNow).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(keeper.Report({LaneIndex{-1}, kFirst, 1, 8, false}).status()));
}

// How many rounds of four lanes close in ten seconds. A step of lane 3 takes ten times as long as
// the 10 ms of the others.
uint64_t RoundsInTenSeconds(int backup_workers) {
  KeeperMachine keeper(/*lanes=*/4, backup_workers);
  constexpr int kTicks = 1000;  // Of 10 ms.
  int done[4] = {};             // Tick at which the step under way is done; 0: none is.
  uint64_t round[4] = {};
  for (int tick = 1; tick <= kTicks; ++tick) {
    for (int lane = 0; lane < 4; ++lane) {
      if (done[lane] != tick) continue;
      Report(keeper, lane, kFirst, round[lane]);
      done[lane] = 0;
    }
    for (int lane = 0; lane < 4; ++lane) {
      if (done[lane] != 0) continue;
      const OpenAnswer opened = Open(keeper, lane, kFirst);
      if (opened.answer != Opened::ANSWER_OPEN) continue;
      round[lane] = opened.round;
      done[lane] = tick + (lane == 3 ? 10 : 1);
    }
  }
  return keeper.open_round() - 1;
}

TEST(KeeperTest, ABackupWorkerGivesThePaceOfTheFast) {
  EXPECT_EQ(RoundsInTenSeconds(/*backup_workers=*/0), 99u);
  EXPECT_EQ(RoundsInTenSeconds(/*backup_workers=*/1), 999u);
}

std::optional<HoldAnswer> HoldOf(const KeeperAnswers& answers, uint64_t waiter) {
  for (const KeeperAnswer& answer : answers) {
    if (answer.waiter == WaiterId{waiter}) return std::get<HoldAnswer>(answer.answer);
  }
  return std::nullopt;
}

TEST(KeeperTest, AHoldIsAnsweredAtOnceWhenNoRoundIsUnderWay) {
  KeeperMachine keeper(1, 0);
  EXPECT_TRUE(HoldOf(keeper.Hold(WaiterId{9}, absl::InfiniteFuture()), 9).has_value());
  EXPECT_EQ(Open(keeper, 0, kFirst, 1).answer, Opened::ANSWER_WAIT) << "new, so told at once";
  EXPECT_EQ(Open(keeper, 0, kFirst, 2).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  const KeeperAnswers released = keeper.Release();
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(released[0].answer).round, 1u);
}

TEST(KeeperTest, AHoldLetsTheOpenRoundFinishAndNoneOpenAfterIt) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  EXPECT_FALSE(HoldOf(keeper.Hold(WaiterId{9}, absl::InfiniteFuture()), 9).has_value());
  EXPECT_EQ(Open(keeper, 1, kFirst).answer, Opened::ANSWER_OPEN) << "the open round goes on";
  Report(keeper, 0, kFirst, 1);
  Open(keeper, 0, kFirst, 7);
  const auto result = keeper.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  const std::optional<HoldAnswer> hold = HoldOf(result.answers, 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_EQ(hold->last.round, 1u);
  EXPECT_FALSE(hold->ended);
  EXPECT_EQ(result.answers.size(), 1u) << "lane 0 is not let into round 2";
  EXPECT_EQ(keeper.Release().size(), 1u);
}

TEST(KeeperTest, ARoundThatIsOpenAtAHoldsDeadlineDoesNotCloseBeforeTheRelease) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Open(keeper, 1, kFirst);
  Report(keeper, 0, kFirst, 1);
  EXPECT_TRUE(keeper.Hold(WaiterId{9}, kNow + absl::Seconds(2)).empty());
  EXPECT_TRUE(keeper.Tick(kNow + absl::Seconds(1)).empty());
  const std::optional<HoldAnswer> hold = HoldOf(keeper.Tick(kNow + absl::Seconds(2)), 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_TRUE(hold->status.ok());
  EXPECT_EQ(hold->last.round, 0u);
  EXPECT_EQ(hold->lanes[0].cursor, 0u) << "what has arrived is not closed yet";

  Report(keeper, 1, kFirst, 1);
  EXPECT_EQ(keeper.last_closed().round, 0u) << "all lanes are in, but what is closed stands still";
  EXPECT_TRUE(HoldOf(keeper.Hold(WaiterId{10}, kNow), 10).has_value()) << "repeated";
  Open(keeper, 0, kFirst, 7);
  const KeeperAnswers released = keeper.Release();
  EXPECT_EQ(keeper.last_closed().round, 1u);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(released[0].answer).round, 2u);
}

TEST(KeeperTest, WhenItsRoundsAreOverWhoeverWaitsIsToldSo) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1);
  Open(keeper, 0, kFirst, 7);
  EXPECT_TRUE(keeper.Hold(WaiterId{9}, absl::InfiniteFuture()).empty());
  const KeeperAnswers dismissed = keeper.Dismiss();
  EXPECT_EQ(dismissed.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(HoldOf(dismissed, 9)->status));
}

TEST(KeeperTest, AnOrderThatComesLateDoesNotUndoALaterOne) {
  KeeperMachine keeper(1, 0);
  EXPECT_TRUE(keeper.TakeOrder(/*term=*/7, 2).ok());
  EXPECT_TRUE(keeper.TakeOrder(/*term=*/7, 2).ok()) << "the same one, repeated";
  EXPECT_TRUE(absl::IsFailedPrecondition(keeper.TakeOrder(/*term=*/7, 1)));
  EXPECT_TRUE(keeper.TakeOrder(/*term=*/7, 3).ok());
  EXPECT_TRUE(keeper.TakeOrder(/*term=*/8, 1).ok()) << "of a later chief";
  EXPECT_TRUE(absl::IsFailedPrecondition(keeper.TakeOrder(/*term=*/7, 4)));
}

TEST(KeeperTest, AHoldAtTheEndSaysSo) {
  KeeperMachine keeper(1, 0);
  Open(keeper, 0, kFirst);
  Report(keeper, 0, kFirst, 1, /*end_of_data=*/true);
  const std::optional<HoldAnswer> hold =
      HoldOf(keeper.Hold(WaiterId{9}, absl::InfiniteFuture()), 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_TRUE(hold->ended);
}

TEST(KeeperTest, BoundsThoseWhoWaitForABoundary) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  for (uint64_t i = 0; i < KeeperMachine::kMaxHoldWaiters; ++i) {
    EXPECT_TRUE(keeper.Hold(WaiterId{100 + i}, kNow + absl::Seconds(1)).empty());
  }
  const std::optional<HoldAnswer> full = HoldOf(keeper.Hold(WaiterId{9}, kNow), 9);
  ASSERT_TRUE(full.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(full->status));
  EXPECT_EQ(keeper.Tick(kNow + absl::Seconds(1)).size(), KeeperMachine::kMaxHoldWaiters);
}

TEST(KeeperTest, SurvivesASnapshot) {
  KeeperMachine keeper(2, 0);
  Open(keeper, 0, kFirst);
  Open(keeper, 1, kFirst);
  Report(keeper, 0, kFirst, 1);
  Report(keeper, 1, kFirst, 1);
  Report(keeper, 1, kFirst, 2, /*end_of_data=*/true);
  KeeperMachine restored(/*backup_workers=*/0, keeper.state());
  const OpenAnswer open = Open(restored, 0, kFirst);
  EXPECT_EQ(open.round, 2u);
  EXPECT_EQ(open.cursor, 1u);
  EXPECT_EQ(Open(restored, 1, kFirst).answer, Opened::ANSWER_ENDED);
}

}  // namespace
}  // namespace capstan::ps
