#include "capstan/consistency/decisions.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(MayPullTest, GoesAtTheBound) { EXPECT_TRUE(MayPull(6, 3, 3)); }
TEST(MayPullTest, WaitsWhenOneStepBeyondTheBound) { EXPECT_FALSE(MayPull(7, 3, 3)); }
TEST(MayPullTest, GoesForATrainerThatIsBehindTheOthers) { EXPECT_TRUE(MayPull(2, 9, 0)); }
TEST(MayPullTest, GoesWhenThereIsNoQuorum) { EXPECT_TRUE(MayPull(100, ~uint64_t{0}, 0)); }

v1::UpdatePolicy Stale(v1::StaleGradients kind) {
  v1::UpdatePolicy policy;
  policy.set_stale_gradients(kind);
  policy.set_drop_above(4);
  return policy;
}

TEST(DecideStaleTest, AppliesByDefault) {
  EXPECT_EQ(DecideStale(Stale(v1::STALE_GRADIENTS_UNSPECIFIED), 99), StaleDecision{});
}
TEST(DecideStaleTest, ScalesByOneOverTheStaleness) {
  EXPECT_EQ(DecideStale(Stale(v1::STALE_GRADIENTS_SCALE), 4).weight, 0.25);
  EXPECT_EQ(DecideStale(Stale(v1::STALE_GRADIENTS_SCALE), 0).weight, 1);
}
TEST(DecideStaleTest, Compensates) {
  EXPECT_TRUE(DecideStale(Stale(v1::STALE_GRADIENTS_COMPENSATE), 1).compensate);
}
TEST(DecideStaleTest, DropsOnlyAboveTheBound) {
  EXPECT_FALSE(DecideStale(Stale(v1::STALE_GRADIENTS_DROP), 4).drop);
  EXPECT_TRUE(DecideStale(Stale(v1::STALE_GRADIENTS_DROP), 5).drop);
}

TEST(ReportsToCloseTest, LeavesOutTheBackupsButNeverAll) {
  EXPECT_EQ(ReportsToClose(/*lanes_with_data=*/8, /*backup_workers=*/0), 8);
  EXPECT_EQ(ReportsToClose(/*lanes_with_data=*/8, /*backup_workers=*/2), 6);
  EXPECT_EQ(ReportsToClose(/*lanes_with_data=*/2, /*backup_workers=*/2), 1);
}

TEST(LaneWeightTest, IsTheShareOfTheExamples) {
  EXPECT_EQ(LaneWeight(/*lane_examples=*/32, /*batch_size=*/32, /*sum_loss=*/false), 1);
  EXPECT_EQ(LaneWeight(/*lane_examples=*/16, /*batch_size=*/32, /*sum_loss=*/false), 0.5);
  EXPECT_EQ(LaneWeight(/*lane_examples=*/16, /*batch_size=*/32, /*sum_loss=*/true), 1);
}

TEST(RoundScaleTest, MakesTheSumOfWeightedLanesTheMeanOverAllExamples) {
  // Lanes of 32 and 16 examples, whose weights are 1 and 0.5, have two thirds and one third.
  EXPECT_EQ(RoundScale(/*round_examples=*/48, /*batch_size=*/32, /*sum_loss=*/false), 32.0 / 48);
  EXPECT_EQ(RoundScale(/*round_examples=*/48, /*batch_size=*/32, /*sum_loss=*/true), 1);
  EXPECT_EQ(RoundScale(/*round_examples=*/0, /*batch_size=*/32, /*sum_loss=*/false), 0);
}

TEST(AggregateOfTest, IsOneUnlessThePolicyIsAsync) {
  v1::UpdatePolicy policy;
  policy.set_aggregate(4);
  policy.set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(AggregateOf(policy), 4u);
  policy.set_kind(v1::POLICY_KIND_SSP);
  EXPECT_EQ(AggregateOf(policy), 1u);
}

TEST(ConnectionsOfAWorkerTest, UnderSspEightThreadsShareOneAndElsewhereAllDo) {
  v1::JobSpec job;
  for (const auto& [threads, connections] : {std::pair(0u, 1u), {8u, 1u}, {9u, 2u}, {64u, 8u}}) {
    job.mutable_train()->set_compute_threads(threads);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
    EXPECT_EQ(ConnectionsOfAWorker(job), connections) << threads;
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    EXPECT_EQ(ConnectionsOfAWorker(job), 1u) << threads;
  }
}

TEST(KnownOutcomeTest, WhatOnlyALaterVersionKnowsIsNotSettled) {
  constexpr auto kLater = static_cast<v1::Outcome>(v1::Outcome_ARRAYSIZE);
  EXPECT_EQ(KnownOutcome(kLater), v1::OUTCOME_BUSY);
  EXPECT_FALSE(IsSettled(KnownOutcome(kLater)));
  EXPECT_EQ(KnownOutcome(v1::OUTCOME_STAGED), v1::OUTCOME_STAGED);
  EXPECT_EQ(KnownOutcome(v1::OUTCOME_UNSPECIFIED), v1::OUTCOME_UNSPECIFIED);
}

}  // namespace
}  // namespace capstan
