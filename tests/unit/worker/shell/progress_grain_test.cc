#include "worker/shell/progress_grain.h"

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
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_SSP)), 100u);
}

TEST(ProgressGrainTest, SynchronousPartsFollowTheirRounds) {
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_ASYNC)), 1000u);
  EXPECT_EQ(ProgressGrain(JobWith(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_SYNC)), 0u);
}

TEST(ProgressGrainTest, ExpiryOfRowsFollowsProgressToo) {
  v1::JobSpec job = JobWith(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_ASYNC);
  job.mutable_tables(0)->set_expire_after_examples(640);
  EXPECT_EQ(ProgressGrain(job), 10u);
}

TEST(ProgressGrainTest, WhereNothingFollowsProgressHeartbeatsAreOftenEnough) {
  v1::JobSpec job;
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.add_tensors()->mutable_optimizer()->mutable_schedule()->set_decay_examples(100);  // Constant.
  EXPECT_EQ(ProgressGrain(job), 0u);
}

}  // namespace
}  // namespace capstan::worker
