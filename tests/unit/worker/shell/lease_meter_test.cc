#include "worker/shell/lease_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "capstan/metrics/registry.h"

namespace capstan::worker {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;

absl::Time Second(int seconds) { return absl::FromUnixSeconds(seconds); }

class LeaseMeterTest : public testing::Test {
 protected:
  LeaseMeterTest() {
    auto batch = std::make_shared<Batch>();
    batch->labels = {1, 0, 1};
    step_.batch = std::move(batch);
    step_.marks = {.pull_began = absl::InfinitePast(), .pulled = absl::InfinitePast()};
  }

  std::string IdleFor(const std::string& awaited, int seconds) {
    return "capstan_worker_idle_seconds_total{awaited=\"" + awaited + "\"} " +
           std::to_string(seconds);
  }

  const ParameterMap map_ = *ParameterMap::Create([] {
    v1::JobSpec job;
    job.set_partition_count(1);
    return job;
  }());
  Step step_{map_};
  metrics::Registry registry_;
  WorkerMetrics metrics_{registry_};
  StepTimes times_;
  LeaseMeter of_task_{v1::LEASE_KIND_TASK, times_, metrics_};
  LeaseMeter of_lane_{v1::LEASE_KIND_LANE, times_, metrics_};
  LeaseMeter of_evaluation_{v1::LEASE_KIND_EVALUATION, times_, metrics_};
};

TEST_F(LeaseMeterTest, ABatchIsWaitedForFromWhenItWasAskedFor) {
  of_task_.OnRead(step_, Second(10), Second(13));
  EXPECT_EQ(step_.marks.asked, Second(10));
  EXPECT_EQ(step_.marks.read, Second(13));
  EXPECT_THAT(metrics_.data_seconds.sum(), DoubleEq(3));
  EXPECT_THAT(times_.data.seconds(), DoubleEq(3));
}

TEST_F(LeaseMeterTest, APullLastsFromTheFirstCallToTheLastAnswer) {
  of_task_.OnPullBegun(step_, Second(10));
  of_task_.OnPullBegun(step_, Second(12));
  of_task_.OnPulled(step_, Second(13));
  of_task_.OnPulled(step_, Second(17));
  EXPECT_THAT(metrics_.pull_seconds.sum(), DoubleEq(0)) << "it may be pulled again";
  of_task_.OnReady(step_);
  EXPECT_THAT(metrics_.pull_seconds.sum(), DoubleEq(7));
  EXPECT_THAT(times_.pull.seconds(), DoubleEq(7));
}

TEST_F(LeaseMeterTest, AStepThatHadNothingToPullWaitedForNothing) {
  of_task_.OnPullBegun(step_, Second(10));
  of_task_.OnReady(step_);
  EXPECT_THAT(metrics_.pull_seconds.sum(), DoubleEq(0));
  EXPECT_THAT(times_.pull.seconds(), DoubleEq(0));
}

TEST_F(LeaseMeterTest, OfTrainingTheGradientCounts) {
  step_.compute_time = absl::Seconds(2);
  step_.gradient_norm = 5;
  of_task_.OnComputed(step_);
  EXPECT_THAT(metrics_.compute_seconds.sum(), DoubleEq(2));
  EXPECT_THAT(times_.compute.seconds(), DoubleEq(2));
  EXPECT_THAT(metrics_.gradient_norm.sum(), DoubleEq(5));
  EXPECT_EQ(metrics_.clipped.value() + metrics_.nonfinite.value(), 0);
  step_.clipped = true;
  of_task_.OnComputed(step_);
  EXPECT_EQ(metrics_.clipped.value(), 1);
  EXPECT_EQ(metrics_.nonfinite.value(), 0);
  step_.clipped = false;
  step_.nonfinite = true;
  of_task_.OnComputed(step_);
  EXPECT_EQ(metrics_.clipped.value(), 1);
  EXPECT_EQ(metrics_.nonfinite.value(), 1);
  EXPECT_EQ(metrics_.evaluated_samples.value(), 0);
}

TEST_F(LeaseMeterTest, OfAnEvaluationItsExamplesCountAndNoStepOrGradient) {
  step_.compute_time = absl::Seconds(2);
  step_.gradient_norm = 5;
  step_.clipped = step_.nonfinite = true;
  of_evaluation_.OnComputed(step_);
  of_evaluation_.OnPushBegun(step_, Second(1));
  of_evaluation_.OnSettled(step_, Second(2));
  EXPECT_THAT(metrics_.compute_seconds.sum(), DoubleEq(2));
  EXPECT_EQ(metrics_.evaluated_samples.value(), 3);
  EXPECT_EQ(metrics_.gradient_norm.sum() + metrics_.push_seconds.sum(), 0);
  EXPECT_EQ(metrics_.clipped.value() + metrics_.nonfinite.value(), 0);
  EXPECT_EQ(metrics_.steps.value() + metrics_.samples.value(), 0);
}

TEST_F(LeaseMeterTest, WhoWaitsForATurnWaitsInALaneForARoundAndElseForPushes) {
  step_.marks = {.asked = Second(0),
                 .read = Second(10),
                 .pull_began = Second(14),
                 .pulled = Second(14),
                 .idle_from = Second(10),
                 .compute_began = Second(14)};
  of_lane_.OnComputed(step_);
  EXPECT_THAT(registry_.Text(), HasSubstr(IdleFor("round", 4)));
  EXPECT_THAT(registry_.Text(), HasSubstr(IdleFor("push", 0)));
  of_task_.OnComputed(step_);
  EXPECT_THAT(registry_.Text(), HasSubstr(IdleFor("round", 4)));
  EXPECT_THAT(registry_.Text(), HasSubstr(IdleFor("push", 4)));
}

TEST_F(LeaseMeterTest, AStepThatIsSettledHasBeenPushedSinceItsFirstPush) {
  of_task_.OnPushBegun(step_, Second(10));
  of_task_.OnPushBegun(step_, Second(12));
  of_task_.OnSettled(step_, Second(15));
  EXPECT_THAT(metrics_.push_seconds.sum(), DoubleEq(5));
  EXPECT_THAT(times_.push.seconds(), DoubleEq(5));
  EXPECT_EQ(metrics_.steps.value(), 1);
  EXPECT_EQ(metrics_.samples.value(), 3);
}

TEST_F(LeaseMeterTest, AStepThatHadNothingToPushCountsAndLastsNoTime) {
  of_task_.OnSettled(step_, Second(15));
  EXPECT_EQ(metrics_.push_seconds.sum(), 0);
  EXPECT_EQ(metrics_.steps.value(), 1);
}

TEST_F(LeaseMeterTest, ARoundIsWaitedForSinceItWasAskedFor) {
  of_lane_.OnRoundOpen(/*asked=*/Second(20), Second(22));
  EXPECT_THAT(metrics_.round_wait_seconds.sum(), DoubleEq(2));
  EXPECT_THAT(times_.round_wait.seconds(), DoubleEq(2));
}

TEST_F(LeaseMeterTest, EachGradientThatIsLateCountsOnce) {
  of_lane_.OnLate(2);
  of_lane_.OnLate(2);
  of_lane_.OnLate(3);
  EXPECT_EQ(metrics_.late_gradients.value(), 3);
}

TEST_F(LeaseMeterTest, ALeaseThatIsLostIsNotFinished) {
  of_task_.OnFinished(/*lost=*/true);
  EXPECT_EQ(metrics_.leases_lost.value(), 1);
  EXPECT_EQ(metrics_.leases_finished.value(), 0);
  of_task_.OnFinished(/*lost=*/false);
  EXPECT_EQ(metrics_.leases_lost.value(), 1);
  EXPECT_EQ(metrics_.leases_finished.value(), 1);
}

}  // namespace
}  // namespace capstan::worker
