#include "chief/work/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace capstan::chief {
namespace {

// The loss is averaged over 100 examples, and the rate over 10 s.
class ProgressTest : public testing::Test {
 protected:
  void UpdateAfter(absl::Duration by, uint64_t examples) {
    now_ += by;
    progress_.Update(examples, /*steps=*/examples, now_);
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Progress progress_{{.loss_window = 100, .rate_window = absl::Seconds(10)}, now_};
};

TEST_F(ProgressTest, ThereIsNoLossBeforeTheFirstExamples) {
  EXPECT_FALSE(progress_.loss());
  progress_.AddLoss(0, 0);
  EXPECT_FALSE(progress_.loss());
  progress_.AddLoss(2, 3);
  EXPECT_EQ(progress_.loss(), 1.5);
}

TEST_F(ProgressTest, OldLossesFadeWithTheExamplesThatFollow) {
  progress_.AddLoss(100, 400);
  progress_.AddLoss(100, 100);
  const double keep = std::exp(-1.0);  // A whole window later.
  EXPECT_NEAR(*progress_.loss(), (4 * keep + 1) / (keep + 1), 1e-12);
}

TEST_F(ProgressTest, TheLeastLossCountsFromHalfAWindowOn) {
  progress_.AddLoss(49, 0.49);
  EXPECT_EQ(progress_.least_loss(), 0) << "the luck of the first examples";
  progress_.AddLoss(1000, 2000);
  const double least = progress_.least_loss();
  EXPECT_NEAR(least, 2, 0.01);
  progress_.AddLoss(1000, 9000);
  EXPECT_EQ(progress_.least_loss(), least);
  EXPECT_NEAR(*progress_.loss(), 9, 0.01);
}

TEST_F(ProgressTest, ExamplesNeverGoBackButStepsDo) {
  progress_.Update(100, 10, now_);
  progress_.Update(90, 9, now_);
  EXPECT_EQ(progress_.examples(), 100u);
  EXPECT_EQ(progress_.steps(), 9u);
  progress_.Restore(50, 5, now_);
  EXPECT_EQ(progress_.examples(), 50u) << "the job has returned to a checkpoint";
  EXPECT_EQ(progress_.steps(), 5u);
}

TEST_F(ProgressTest, TheRateIsThatOfTheWindow) {
  UpdateAfter(absl::ZeroDuration(), 0);
  EXPECT_EQ(progress_.examples_per_second(), 0) << "one look tells no rate";
  for (int second = 1; second <= 20; ++second) UpdateAfter(absl::Seconds(1), 100 * second);
  EXPECT_DOUBLE_EQ(progress_.examples_per_second(), 100);
  for (int second = 1; second <= 10; ++second) UpdateAfter(absl::Seconds(1), 2000 + 300 * second);
  EXPECT_DOUBLE_EQ(progress_.examples_per_second(), 300) << "what was before is forgotten";
}

TEST_F(ProgressTest, AReturnToACheckpointBeginsTheRateAnew) {
  UpdateAfter(absl::ZeroDuration(), 5000);
  UpdateAfter(absl::Seconds(1), 6000);
  progress_.Restore(1000, 10, now_);
  EXPECT_EQ(progress_.examples_per_second(), 0);
  UpdateAfter(absl::Seconds(2), 1100);
  EXPECT_DOUBLE_EQ(progress_.examples_per_second(), 50);
}

TEST_F(ProgressTest, AnExactCountBelowTheOneBeforeIsNoRateOfBillions) {
  UpdateAfter(absl::ZeroDuration(), 1000);
  progress_.Settle(990);
  EXPECT_EQ(progress_.examples(), 990u);
  UpdateAfter(absl::Seconds(1), 990);
  EXPECT_EQ(progress_.examples(), 990u);
  EXPECT_EQ(progress_.examples_per_second(), 0);
}

TEST_F(ProgressTest, TheCurveGetsAPointASecondAndLaterOneAHundredthOfTheTime) {
  const absl::Time begin = now_;
  EXPECT_TRUE(progress_.TakeCurveDue(begin));
  EXPECT_FALSE(progress_.TakeCurveDue(begin + absl::Milliseconds(999)));
  EXPECT_TRUE(progress_.TakeCurveDue(begin + absl::Seconds(1)));
  EXPECT_TRUE(progress_.TakeCurveDue(begin + absl::Seconds(1000)));
  EXPECT_FALSE(progress_.TakeCurveDue(begin + absl::Seconds(1009)));
  EXPECT_TRUE(progress_.TakeCurveDue(begin + absl::Seconds(1010)));
}

TEST_F(ProgressTest, TheTimeOfEarlierChiefsCounts) {
  progress_.Start(now_, /*before=*/absl::Minutes(2));
  EXPECT_DOUBLE_EQ(progress_.elapsed_seconds(now_ + absl::Seconds(3)), 123);
}

}  // namespace
}  // namespace capstan::chief
