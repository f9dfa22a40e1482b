#include "worker/session/progress_grain.h"

#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

v1::JobSpec JobWith(v1::PolicyKind dense, v1::PolicyKind sparse) {
  v1::JobSpec job;
  job.mutable_dense_update()->set_kind(dense);
  job.mutable_sparse_update()->set_kind(sparse);
  v1::ScheduleSpec& of_rows = *job.add_tables()->mutable_optimizer()->mutable_schedule();
  of_rows.set_kind(v1::SCHEDULE_KIND_COSINE);
  of_rows.set_decay_examples(64'000);
  v1::ScheduleSpec& of_blocks = *job.add_tensors()->mutable_optimizer()->mutable_schedule();
  of_blocks.set_warmup_examples(6'400);
  return job;
}

TEST(ProgressGrainTest, IsASmallPartOfTheShortestCourse) {
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_SSP)).At(0), 100u);
}

TEST(ProgressGrainTest, ACourseThatIsOverIsFollowedNoLonger) {
  v1::JobSpec job = JobWith(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_SSP);
  const ProgressGrain grain(job);
  EXPECT_EQ(grain.At(6'399), 100u);
  EXPECT_EQ(grain.At(6'400), 1000u) << "the warm-up is over, the cosine is not";
  EXPECT_EQ(grain.At(64'000), 0u);
  job.mutable_tables(0)->mutable_optimizer()->mutable_schedule()->set_kind(v1::SCHEDULE_KIND_STEP);
  EXPECT_EQ(ProgressGrain(job).At(1'000'000), 1000u) << "steps go on";
}

TEST(ProgressGrainTest, SynchronousPartsFollowTheirRounds) {
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_ASYNC)).At(0), 1000u);
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_SYNC)).At(0), 0u);
}

TEST(ProgressGrainTest, ExpiryOfRowsFollowsProgressToo) {
  v1::JobSpec job = JobWith(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_ASYNC);
  job.mutable_tables(0)->set_expire_after_examples(640);
  EXPECT_EQ(ProgressGrain(job).At(0), 10u);
}

TEST(ProgressGrainTest, WhereNothingFollowsProgressHeartbeatsAreOftenEnough) {
  v1::JobSpec job;
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.add_tensors()->mutable_optimizer()->mutable_schedule()->set_decay_examples(100);  // Constant.
  EXPECT_EQ(ProgressGrain(job).At(0), 0u);
}

}  // namespace
}  // namespace capstan::worker
