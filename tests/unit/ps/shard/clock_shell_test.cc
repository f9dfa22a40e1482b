#include "ps/shard/clock_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace capstan::ps {
namespace {

constexpr TrainerId kFast{1};
constexpr TrainerId kSlow{2};

Catalog CatalogOf(v1::PolicyKind kind) {
  v1::JobSpec job;
  job.set_partition_count(1);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(kind);
    policy->set_staleness(1);
  }
  absl::StatusOr<Catalog> catalog = Catalog::Create(job);
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return *std::move(catalog);
}

v1::View ViewOf(std::initializer_list<TrainerId> trainers) {
  v1::View view;
  for (TrainerId trainer : trainers) view.add_trainers()->set_trainer(Raw(trainer));
  return view;
}

class ClockShellTest : public testing::Test {
 protected:
  // What becomes of a pull at this clock: "" while it waits.
  std::optional<WaiterId> Wait(uint64_t clock, std::string& became) {
    return clocks_.Wait(clock, now_ + absl::Seconds(5), /*bytes=*/1,
                        [&became](const absl::Status& status) {
                          became = absl::StatusCodeToString(status.code());
                        });
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Catalog catalog_ = CatalogOf(v1::POLICY_KIND_SSP);
  ClockShell clocks_{catalog_, nullptr};
};

TEST_F(ClockShellTest, NobodyRunsAheadOfTrainersThatTheShardHasNotHeardOf) {
  std::string became;
  EXPECT_EQ(Wait(0, became), std::nullopt);
  EXPECT_EQ(became, "UNAVAILABLE");
}

TEST_F(ClockShellTest, AboveTheLimitAPullIsRefusedAndWhoeverNeedNotWaitGoesOn) {
  clocks_.SetQuorum(ViewOf({kFast, kSlow}));
  clocks_.SetParkedLimit(1);
  std::string first, second, slow;
  ASSERT_TRUE(Wait(2, first).has_value());
  EXPECT_EQ(clocks_.facts().parked_bytes, 1u);
  EXPECT_EQ(Wait(2, second), std::nullopt);
  EXPECT_EQ(second, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(Wait(1, slow), std::nullopt);
  EXPECT_EQ(slow, "OK");
}

TEST_F(ClockShellTest, APullWaitsUntilThePushOfASlowerTrainerHasBeenAnswered) {
  clocks_.SetQuorum(ViewOf({kFast, kSlow}));
  std::string became;
  ASSERT_TRUE(Wait(2, became).has_value());
  EXPECT_EQ(became, "");
  {
    const ReleasedPulls released = clocks_.OnFinished(kSlow, 1, {});
    EXPECT_EQ(became, "") << "the push is answered first";
  }
  EXPECT_EQ(became, "") << "the other one has finished nothing";
  (void)clocks_.OnFinished(kFast, 2, {});
  EXPECT_EQ(became, "OK");
}

TEST_F(ClockShellTest, WhatATrainerSaysByAViewOlderThanThePartitionsDoesNotHold) {
  clocks_.SetQuorum(ViewOf({kSlow}));
  clocks_.TakeOver({{kSlow, 0}}, /*had_none=*/false, ViewEpoch{1, 7});
  std::string became;
  ASSERT_TRUE(Wait(2, became).has_value());
  (void)clocks_.OnFinished(kSlow, 5, ViewEpoch{1, 6});
  EXPECT_EQ(became, "");
  (void)clocks_.OnFinished(kSlow, 5, ViewEpoch{1, 7});
  EXPECT_EQ(became, "OK");
}

TEST_F(ClockShellTest, ALaterTimelineEndsTheWaitAndTheQuorumIsUnknownAgain) {
  clocks_.SetQuorum(ViewOf({kSlow}));
  std::string waited;
  ASSERT_TRUE(Wait(2, waited).has_value());
  clocks_.Restart();
  EXPECT_EQ(waited, "UNAVAILABLE");
  std::string next;
  Wait(0, next);
  EXPECT_EQ(next, "UNAVAILABLE");
}

TEST_F(ClockShellTest, APullIsAnsweredAtItsDeadlineAndAForgottenOneNever) {
  clocks_.SetQuorum(ViewOf({kSlow}));
  std::string kept;
  std::string forgotten;
  ASSERT_TRUE(Wait(2, kept).has_value());
  const std::optional<WaiterId> waiter = Wait(2, forgotten);
  ASSERT_TRUE(waiter.has_value());
  EXPECT_TRUE(clocks_.Forget(*waiter));
  clocks_.Tick(now_ + absl::Seconds(6));
  EXPECT_EQ(kept, "DEADLINE_EXCEEDED");
  EXPECT_EQ(forgotten, "");
}

TEST_F(ClockShellTest, ABackupTakesOverTheLowestOfWhatItsOwnersHaveTold) {
  const Incarnation a{10};
  const Incarnation b{11};
  clocks_.AdoptFrom(a, {{kFast, 9}, {kSlow, 4}});
  clocks_.AdoptFrom(b, {{kFast, 6}, {kSlow, 5}});
  clocks_.HearOfOwner(a, {kSlow, 7});
  clocks_.HearOfOwner(a, {kSlow, 3});
  const std::vector<FinishedClock> lowest = clocks_.LowestOfOwners();
  ASSERT_EQ(lowest.size(), 2u);
  EXPECT_EQ(lowest[0].clock, 6u) << "of the fast one, at b";
  EXPECT_EQ(lowest[1].clock, 5u) << "of the slow one, at b";
}

TEST_F(ClockShellTest, ACopyThatIsMadeAnewMayLowerWhatWasKnownOfItsOwner) {
  const Incarnation owner{10};
  clocks_.HearOfOwner(owner, {kSlow, 7});
  clocks_.AdoptFrom(owner, {{kSlow, 4}});
  ASSERT_EQ(clocks_.LowestOfOwners().size(), 1u);
  EXPECT_EQ(clocks_.LowestOfOwners()[0].clock, 4u);
  clocks_.KeepOwners([](Incarnation) { return false; });
  EXPECT_THAT(clocks_.LowestOfOwners(), testing::IsEmpty());
}

TEST(ClockShellWithoutSspTest, NobodyIsCountedAndNothingIsHandedOver) {
  const Catalog catalog = CatalogOf(v1::POLICY_KIND_ASYNC);
  ClockShell clocks(catalog, nullptr);
  clocks.SetQuorum(ViewOf({kSlow}));
  EXPECT_TRUE(clocks.OnFinished(kSlow, 5, {}).empty());
  EXPECT_FALSE(clocks.needed());
  EXPECT_THAT(clocks.Finished(), testing::IsEmpty());
  EXPECT_EQ(clocks.facts().trainers, 0u);
}

}  // namespace
}  // namespace capstan::ps
