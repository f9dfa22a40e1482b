#include "chief/shell/recommended_workers.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan::chief {
namespace {

v1::JobSpec Job(v1::PolicyKind policy) {
  v1::JobSpec spec;
  spec.add_tables();
  spec.mutable_sparse_update()->set_kind(policy);
  spec.mutable_train()->set_compute_threads(1);
  return spec;
}

v1::GetStatusReply Running(int workers, double busiest) {
  v1::GetStatusReply status;
  status.set_state(v1::JOB_STATE_RUNNING);
  for (int i = 0; i < workers; ++i) status.add_workers()->set_state("active");
  status.add_shards()->set_cpu_share(busiest / 2);
  status.add_shards()->set_cpu_share(busiest);
  status.mutable_tasks()->set_todo(1000);
  return status;
}

TEST(RecommendedWorkersTest, AreAsManyAsKeepTheBusiestShardAtFourFifths) {
  const v1::JobSpec spec = Job(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(RecommendedWorkers(Running(10, 0.8), spec), 10);
  EXPECT_EQ(RecommendedWorkers(Running(10, 1.0), spec), 8);
  EXPECT_EQ(RecommendedWorkers(Running(10, 0.5), spec), 16);
  EXPECT_EQ(RecommendedWorkers(Running(1, 1.0), spec), 1);
}

TEST(RecommendedWorkersTest, AreAtMostTwiceThoseThatAreThere) {
  EXPECT_EQ(RecommendedWorkers(Running(10, 0.01), Job(v1::POLICY_KIND_ASYNC)), 20);
  EXPECT_EQ(RecommendedWorkers(Running(10, 0), Job(v1::POLICY_KIND_ASYNC)), 20);
}

TEST(RecommendedWorkersTest, AreNoMoreThanThereIsWorkFor) {
  v1::JobSpec spec = Job(v1::POLICY_KIND_SYNC);
  spec.mutable_sparse_update()->set_lanes(12);
  EXPECT_EQ(RecommendedWorkers(Running(10, 0.1), spec), 12);
  spec.mutable_train()->set_compute_threads(5);
  EXPECT_EQ(RecommendedWorkers(Running(10, 0.1), spec), 3);
  v1::GetStatusReply nearly_done = Running(10, 0.1);
  nearly_done.mutable_tasks()->set_todo(1);
  nearly_done.mutable_tasks()->set_doing(3);
  EXPECT_EQ(RecommendedWorkers(nearly_done, Job(v1::POLICY_KIND_ASYNC)), 4);
}

TEST(RecommendedWorkersTest, AreNoneAfterTheEndAndOneWhereNobodyIsThere) {
  for (const v1::JobState over : {v1::JOB_STATE_COMPLETED, v1::JOB_STATE_FAILED}) {
    v1::GetStatusReply status = Running(10, 0.1);
    status.set_state(over);
    EXPECT_EQ(RecommendedWorkers(status, Job(v1::POLICY_KIND_ASYNC)), 0);
  }
  v1::GetStatusReply status = Running(2, 0.8);
  status.mutable_workers(0)->set_state("lost");
  status.mutable_workers(1)->set_state("draining");
  EXPECT_EQ(RecommendedWorkers(status, Job(v1::POLICY_KIND_ASYNC)), 1);
}

TEST(RecommendedWorkersTest, AreThoseThatAreThereWhileNothingIsTrained) {
  for (const v1::JobState state :
       {v1::JOB_STATE_PENDING, v1::JOB_STATE_RESTORING, v1::JOB_STATE_CHECKPOINTING}) {
    v1::GetStatusReply status = Running(10, 0.01);
    status.set_state(state);
    EXPECT_EQ(RecommendedWorkers(status, Job(v1::POLICY_KIND_ASYNC)), 10) << state;
  }
}

}  // namespace
}  // namespace capstan::chief
