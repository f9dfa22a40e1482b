#include "ps/machines/coordinator_machine.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tests/unit/ps/machines/testing.h"

namespace capstan::ps {
namespace {

using Opened = v1::OpenRoundReply;
using Reported = v1::ReportLaneReply;

TEST(CoordinatorTest, ARoundClosesWhenAllLanesAreIn) {
  CoordinatorMachine coordinator(/*lanes=*/2, /*backup_workers=*/0);
  EXPECT_EQ(Open(coordinator, 0, kFirst).answer, Opened::ANSWER_OPEN);
  EXPECT_EQ(Open(coordinator, 1, kFirst).round, 1u);
  EXPECT_EQ(Report(coordinator, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(coordinator.open_round(), 1u);
  EXPECT_EQ(Report(coordinator, 1, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(coordinator.open_round(), 2u);
  const OpenAnswer next = Open(coordinator, 0, kFirst);
  EXPECT_EQ(next.round, 2u);
  EXPECT_EQ(next.cursor, 1u);
  EXPECT_EQ(next.closed.lanes.size(), 2u);
}

TEST(CoordinatorTest, WhoHasReportedWaitsForTheNextRound) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  EXPECT_EQ(Open(coordinator, 0, kFirst, 7).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  Open(coordinator, 1, kFirst);
  const auto result = coordinator.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  EXPECT_EQ(result.answers[0].waiter, WaiterId{7});
  const auto& told = std::get<OpenAnswer>(result.answers[0].answer);
  EXPECT_EQ(told.round, 2u);
  EXPECT_EQ(told.lane, LaneIndex{0});
  EXPECT_EQ(told.generation, kFirst);
}

TEST(CoordinatorTest, AfterTheLastRoundNoneOpensAndWhoeverWaitsHearsThatItIsClosed) {
  CoordinatorMachine coordinator(/*lanes=*/2, /*backup_workers=*/0);
  coordinator.SetMaxRounds(1);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Open(coordinator, 0, kFirst, 7);
  Open(coordinator, 1, kFirst);
  const auto result = coordinator.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  const auto& told = std::get<OpenAnswer>(result.answers[0].answer);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.closed.round, 1u);
  EXPECT_EQ(Open(coordinator, 1, kFirst, 8).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  EXPECT_FALSE(coordinator.ended());
}

TEST(CoordinatorTest, WithAHigherLimitRoundsGoOn) {
  CoordinatorMachine coordinator(/*lanes=*/1, /*backup_workers=*/0);
  coordinator.SetMaxRounds(1);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  coordinator.SetMaxRounds(2);
  const OpenAnswer told = Open(coordinator, 0, kSecond, 7);
  EXPECT_EQ(told.answer, Opened::ANSWER_OPEN);
  EXPECT_EQ(told.round, 2u);
}

TEST(CoordinatorTest, ALaneThatWaitsInAnOpenRoundIsToldOfTheRoundBefore) {
  CoordinatorMachine coordinator(/*lanes=*/2, /*backup_workers=*/0);
  coordinator.SetMaxRounds(1);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  const OpenAnswer told = Open(coordinator, 0, kSecond, 8);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.closed.round, 0u);
}

TEST(CoordinatorTest, EveryWaitHasADeadline) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Open(coordinator, 0, kFirst, 7);
  EXPECT_TRUE(coordinator.Tick(kNow + absl::Seconds(4)).empty());
  const CoordinatorAnswers answers = coordinator.Tick(kNow + absl::Seconds(5));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(answers[0].answer).answer, Opened::ANSWER_WAIT);
  EXPECT_TRUE(coordinator.Tick(absl::InfiniteFuture()).empty()) << "nobody waits any more";
}

TEST(CoordinatorTest, ANewRunnerReleasesTheOldOnesWait) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Open(coordinator, 0, kFirst, 7);
  const CoordinatorAnswers answers =
      coordinator.Open({WaiterId{8}, LaneIndex{0}, kSecond, kNow + absl::Seconds(5)}, kNow).value();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].waiter, WaiterId{7});
  EXPECT_EQ(std::get<OpenAnswer>(answers[0].answer).answer, Opened::ANSWER_OLD_GENERATION);
}

TEST(CoordinatorTest, ANewRunnerOfALaneThatIsInIsToldAtOnceWhichRoundIsNext) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  const OpenAnswer told = Open(coordinator, 0, kSecond, 8);
  EXPECT_EQ(told.answer, Opened::ANSWER_WAIT);
  EXPECT_EQ(told.round, 2u);
  EXPECT_EQ(Open(coordinator, 0, kSecond, 9).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
}

TEST(CoordinatorTest, ARepeatedReportOfACountedGradientIsCounted) {
  CoordinatorMachine coordinator(1, 0);
  Open(coordinator, 0, kFirst);
  EXPECT_EQ(Report(coordinator, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(Report(coordinator, 0, kFirst, 1), Reported::ANSWER_COUNTED);
  EXPECT_EQ(coordinator.open_round(), 2u);
}

LaneNews NewsOf(const CoordinatorAnswer& answer) {
  return std::get<NewsAnswer>(answer.answer).news;
}

TEST(CoordinatorTest, WhoAsksForNewsHearsWhatItHasNotBeenToldAndWaitsForTheRest) {
  CoordinatorMachine coordinator(/*lanes=*/3, /*backup_workers=*/0);
  for (int lane : {0, 1, 2}) Open(coordinator, lane, kFirst);
  Report(coordinator, 1, kFirst, 1);
  Report(coordinator, 2, kFirst, 1, /*end_of_data=*/true);
  const CoordinatorAnswers now = coordinator.Ask({WaiterId{7}, {}, absl::InfiniteFuture()});
  ASSERT_EQ(now.size(), 1u);
  EXPECT_EQ(NewsOf(now[0]).round, 1u);
  ASSERT_EQ(NewsOf(now[0]).counted.size(), 1u);
  EXPECT_EQ(NewsOf(now[0]).counted[0], (ClosedLane{LaneIndex{1}, kFirst, 8}));
  EXPECT_EQ(NewsOf(now[0]).ended, std::vector{LaneIndex{2}});
  EXPECT_TRUE(coordinator.Ask({WaiterId{8}, {1, 1, 1}, absl::InfiniteFuture()}).empty());
  // The last report closes the round: what is new is that another one is open.
  const auto result = coordinator.Report({LaneIndex{0}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 1u);
  EXPECT_EQ(result.answers[0].waiter, WaiterId{8});
  EXPECT_EQ(NewsOf(result.answers[0]).round, 2u);
  EXPECT_TRUE(NewsOf(result.answers[0]).counted.empty());
}

TEST(CoordinatorTest, WhoWaitsForNewsIsAnsweredAtItsDeadlineOrWhenTheRoundsAreOver) {
  CoordinatorMachine coordinator(2, 0);
  coordinator.Ask({WaiterId{7}, {1, 0, 0}, kNow + absl::Seconds(5)});
  EXPECT_TRUE(coordinator.Tick(kNow + absl::Seconds(4)).empty());
  ASSERT_EQ(coordinator.Tick(kNow + absl::Seconds(5)).size(), 1u);
  coordinator.Ask({WaiterId{8}, {1, 0, 0}, absl::InfiniteFuture()});
  const CoordinatorAnswers over = coordinator.Dismiss();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(std::get<NewsAnswer>(over[0].answer).status));
  coordinator.Ask({WaiterId{9}, {1, 0, 0}, absl::InfiniteFuture()});
  coordinator.Forget(WaiterId{9});
  EXPECT_TRUE(coordinator.Dismiss().empty());
}

TEST(CoordinatorTest, NoMoreCallersWaitForNewsThanThereCanBeShards) {
  CoordinatorMachine coordinator(2, 0);
  const NewsCursor told{1, 0, 0};
  for (size_t i = 0; i < CoordinatorMachine::kMaxNewsWaiters; ++i) {
    EXPECT_TRUE(coordinator.Ask({WaiterId{i + 1}, told, absl::InfiniteFuture()}).empty());
  }
  const CoordinatorAnswers full = coordinator.Ask({WaiterId{0}, told, absl::InfiniteFuture()});
  ASSERT_EQ(full.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(std::get<NewsAnswer>(full[0].answer).status));
}

constexpr size_t kMoreThanThereAre = std::numeric_limits<uint32_t>::max();

TEST(CoordinatorTest,
     WhoWantsTheCommitHearsItWhenTheRoundClosesBeforeTheLanesDoAndNoCountsUntilThen) {
  CoordinatorMachine coordinator(/*lanes=*/2, /*backup_workers=*/0);
  for (int lane : {0, 1}) Open(coordinator, lane, kFirst);
  const NewsCursor told{1, kMoreThanThereAre, kMoreThanThereAre};
  EXPECT_TRUE(
      coordinator.Ask({WaiterId{7}, told, absl::InfiniteFuture(), /*commit=*/true}).empty());
  EXPECT_TRUE(coordinator.Report({LaneIndex{0}, kFirst, 1, 8, false}).value().answers.empty());
  Open(coordinator, 0, kFirst, 8);
  const auto result = coordinator.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  ASSERT_EQ(result.answers.size(), 2u);
  EXPECT_EQ(result.answers[0].waiter, WaiterId{7});
  EXPECT_EQ(NewsOf(result.answers[0]).round, 2u);
  const auto& news = std::get<NewsAnswer>(result.answers[0].answer);
  ASSERT_TRUE(news.closed.has_value());
  EXPECT_EQ(*news.closed, coordinator.last_closed());
}

TEST(CoordinatorTest, NoCommitIsToldAgainAtADeadlineNorToWhoWantsCounts) {
  CoordinatorMachine coordinator(2, 0);
  coordinator.Ask(
      {WaiterId{7}, {1, kMoreThanThereAre, kMoreThanThereAre}, kNow + absl::Seconds(5), true});
  const CoordinatorAnswers late = coordinator.Tick(kNow + absl::Seconds(5));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_FALSE(std::get<NewsAnswer>(late[0].answer).closed.has_value());
  const CoordinatorAnswers counts = coordinator.Ask({WaiterId{8}, {}, absl::InfiniteFuture()});
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_FALSE(std::get<NewsAnswer>(counts[0].answer).closed.has_value());
}

TEST(CoordinatorTest, LanesThatWereAtTheirEndInACheckpointAreNews) {
  const CoordinatorState state{{3, {}}, {{.cursor = 3, .ended = true}, {.cursor = 3}}};
  const CoordinatorMachine coordinator(0, state);
  EXPECT_EQ(coordinator.NewsSince({}).ended, std::vector{LaneIndex{0}});
}

TEST(CoordinatorTest, RefusesLanesThatDoNotExist) {
  CoordinatorMachine coordinator(2, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(
      coordinator.Open({WaiterId{1}, LaneIndex{2}, kFirst, kNow}, kNow).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(coordinator.Report({LaneIndex{-1}, kFirst, 1, 8, false}).status()));
}

// How many rounds of four lanes close in ten seconds. A step of lane 3 takes ten times as long as
// the 10 ms of the others.
uint64_t RoundsInTenSeconds(int backup_workers) {
  CoordinatorMachine coordinator(/*lanes=*/4, backup_workers);
  constexpr int kTicks = 1000;  // Of 10 ms.
  int done[4] = {};             // Tick at which the step under way is done; 0: none is.
  uint64_t round[4] = {};
  for (int tick = 1; tick <= kTicks; ++tick) {
    for (int lane = 0; lane < 4; ++lane) {
      if (done[lane] != tick) continue;
      Report(coordinator, lane, kFirst, round[lane]);
      done[lane] = 0;
    }
    for (int lane = 0; lane < 4; ++lane) {
      if (done[lane] != 0) continue;
      const OpenAnswer opened = Open(coordinator, lane, kFirst);
      if (opened.answer != Opened::ANSWER_OPEN) continue;
      round[lane] = opened.round;
      done[lane] = tick + (lane == 3 ? 10 : 1);
    }
  }
  return coordinator.open_round() - 1;
}

TEST(CoordinatorTest, ABackupWorkerGivesThePaceOfTheFast) {
  EXPECT_EQ(RoundsInTenSeconds(/*backup_workers=*/0), 99u);
  EXPECT_EQ(RoundsInTenSeconds(/*backup_workers=*/1), 999u);
}

std::optional<HoldAnswer> HoldOf(const CoordinatorAnswers& answers, uint64_t waiter) {
  for (const CoordinatorAnswer& answer : answers) {
    if (answer.waiter == WaiterId{waiter}) return std::get<HoldAnswer>(answer.answer);
  }
  return std::nullopt;
}

TEST(CoordinatorTest, AHoldIsAnsweredAtOnceWhenNoRoundIsUnderWay) {
  CoordinatorMachine coordinator(1, 0);
  EXPECT_TRUE(HoldOf(coordinator.Hold(WaiterId{9}, absl::InfiniteFuture()), 9).has_value());
  EXPECT_EQ(Open(coordinator, 0, kFirst, 1).answer, Opened::ANSWER_WAIT) << "new, so told at once";
  EXPECT_EQ(Open(coordinator, 0, kFirst, 2).answer, Opened::ANSWER_UNSPECIFIED) << "parked";
  const CoordinatorAnswers released = coordinator.Release();
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(released[0].answer).round, 1u);
}

TEST(CoordinatorTest, AHoldLetsTheOpenRoundFinishAndNoneOpenAfterIt) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  EXPECT_FALSE(HoldOf(coordinator.Hold(WaiterId{9}, absl::InfiniteFuture()), 9).has_value());
  EXPECT_EQ(Open(coordinator, 1, kFirst).answer, Opened::ANSWER_OPEN) << "the open round goes on";
  Report(coordinator, 0, kFirst, 1);
  Open(coordinator, 0, kFirst, 7);
  const auto result = coordinator.Report({LaneIndex{1}, kFirst, 1, 8, false}).value();
  const std::optional<HoldAnswer> hold = HoldOf(result.answers, 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_EQ(hold->last.round, 1u);
  EXPECT_FALSE(hold->ended);
  EXPECT_EQ(result.answers.size(), 1u) << "lane 0 is not let into round 2";
  EXPECT_EQ(coordinator.Release().size(), 1u);
}

TEST(CoordinatorTest, ARoundThatIsOpenAtAHoldsDeadlineDoesNotCloseBeforeTheRelease) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 1, kFirst);
  Report(coordinator, 0, kFirst, 1);
  EXPECT_TRUE(coordinator.Hold(WaiterId{9}, kNow + absl::Seconds(2)).empty());
  EXPECT_TRUE(coordinator.Tick(kNow + absl::Seconds(1)).empty());
  const std::optional<HoldAnswer> hold = HoldOf(coordinator.Tick(kNow + absl::Seconds(2)), 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_TRUE(hold->status.ok());
  EXPECT_EQ(hold->last.round, 0u);
  EXPECT_EQ(hold->lanes[0].cursor, 0u) << "what has arrived is not closed yet";

  Report(coordinator, 1, kFirst, 1);
  EXPECT_EQ(coordinator.last_closed().round, 0u)
      << "all lanes are in, but what is closed stands still";
  EXPECT_TRUE(HoldOf(coordinator.Hold(WaiterId{10}, kNow), 10).has_value()) << "repeated";
  Open(coordinator, 0, kFirst, 7);
  const CoordinatorAnswers released = coordinator.Release();
  EXPECT_EQ(coordinator.last_closed().round, 1u);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(std::get<OpenAnswer>(released[0].answer).round, 2u);
}

TEST(CoordinatorTest, WhenItsRoundsAreOverWhoeverWaitsIsToldSo) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Open(coordinator, 0, kFirst, 7);
  EXPECT_TRUE(coordinator.Hold(WaiterId{9}, absl::InfiniteFuture()).empty());
  const CoordinatorAnswers dismissed = coordinator.Dismiss();
  EXPECT_EQ(dismissed.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(HoldOf(dismissed, 9)->status));
}

TEST(CoordinatorTest, AnOrderThatComesLateDoesNotUndoALaterOne) {
  CoordinatorMachine coordinator(1, 0);
  EXPECT_TRUE(coordinator.TakeOrder(/*term=*/7, 2).ok());
  EXPECT_TRUE(coordinator.TakeOrder(/*term=*/7, 2).ok()) << "the same one, repeated";
  EXPECT_TRUE(absl::IsFailedPrecondition(coordinator.TakeOrder(/*term=*/7, 1)));
  EXPECT_TRUE(coordinator.TakeOrder(/*term=*/7, 3).ok());
  EXPECT_TRUE(coordinator.TakeOrder(/*term=*/8, 1).ok()) << "of a later chief";
  EXPECT_TRUE(absl::IsFailedPrecondition(coordinator.TakeOrder(/*term=*/7, 4)));
}

TEST(CoordinatorTest, AHoldAtTheEndSaysSo) {
  CoordinatorMachine coordinator(1, 0);
  Open(coordinator, 0, kFirst);
  Report(coordinator, 0, kFirst, 1, /*end_of_data=*/true);
  const std::optional<HoldAnswer> hold =
      HoldOf(coordinator.Hold(WaiterId{9}, absl::InfiniteFuture()), 9);
  ASSERT_TRUE(hold.has_value());
  EXPECT_TRUE(hold->ended);
}

TEST(CoordinatorTest, BoundsThoseWhoWaitForABarrier) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  for (uint64_t i = 0; i < CoordinatorMachine::kMaxHoldWaiters; ++i) {
    EXPECT_TRUE(coordinator.Hold(WaiterId{100 + i}, kNow + absl::Seconds(1)).empty());
  }
  const std::optional<HoldAnswer> full = HoldOf(coordinator.Hold(WaiterId{9}, kNow), 9);
  ASSERT_TRUE(full.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(full->status));
  EXPECT_EQ(coordinator.Tick(kNow + absl::Seconds(1)).size(), CoordinatorMachine::kMaxHoldWaiters);
}

TEST(CoordinatorTest, SurvivesASnapshot) {
  CoordinatorMachine coordinator(2, 0);
  Open(coordinator, 0, kFirst);
  Open(coordinator, 1, kFirst);
  Report(coordinator, 0, kFirst, 1);
  Report(coordinator, 1, kFirst, 1);
  Report(coordinator, 1, kFirst, 2, /*end_of_data=*/true);
  CoordinatorMachine restored(/*backup_workers=*/0, coordinator.state());
  const OpenAnswer open = Open(restored, 0, kFirst);
  EXPECT_EQ(open.round, 2u);
  EXPECT_EQ(open.cursor, 1u);
  EXPECT_EQ(Open(restored, 1, kFirst).answer, Opened::ANSWER_ENDED);
}

}  // namespace
}  // namespace capstan::ps
