// Whether a job works in rounds, or in streams, or both.
#include "capstan/consistency/job_lanes.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

// Dense: sync with 8 lanes. Sparse: async. `tensors` and `tables`: whether the model has some.
v1::JobSpec HybridJob(bool tensors, bool tables) {
  v1::JobSpec job;
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_dense_update()->set_lanes(8);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  if (tensors) job.add_tensors();
  if (tables) job.add_tables();
  return job;
}

TEST(JobLanesTest, AHybridHasBothLanesAndStreams) {
  const v1::JobSpec job = HybridJob(true, true);
  EXPECT_TRUE(UsesLanes(job));
  EXPECT_TRUE(UsesStreams(job));
  EXPECT_EQ(LaneCount(job), 8u);
}

TEST(JobLanesTest, ThePolicyOfAPartThatTheModelLacksCountsForNothing) {
  const v1::JobSpec no_tensors = HybridJob(false, true);
  EXPECT_FALSE(UsesLanes(no_tensors));
  EXPECT_TRUE(UsesStreams(no_tensors));
  EXPECT_EQ(LaneCount(no_tensors), 1u) << "it has no rounds";
  const v1::JobSpec no_tables = HybridJob(true, false);
  EXPECT_TRUE(UsesLanes(no_tables));
  EXPECT_FALSE(UsesStreams(no_tables));
}

TEST(JobLanesTest, LanesOfAPolicyThatIsNotSynchronousAreNone) {
  v1::JobSpec job = HybridJob(true, true);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  EXPECT_FALSE(UsesLanes(job));
  EXPECT_EQ(LaneCount(job), 1u);
}

TEST(JobLanesTest, AJobOfTablesAloneHasTheLanesOfTheirPolicy) {
  v1::JobSpec job = HybridJob(false, true);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_sparse_update()->set_lanes(3);
  EXPECT_TRUE(UsesLanes(job));
  EXPECT_FALSE(UsesStreams(job));
  EXPECT_EQ(LaneCount(job), 3u);
}

TEST(JobLanesTest, AModelWithoutParametersHasNeither) {
  const v1::JobSpec job = HybridJob(false, false);
  EXPECT_FALSE(UsesLanes(job));
  EXPECT_FALSE(UsesStreams(job));
}

}  // namespace
}  // namespace capstan
