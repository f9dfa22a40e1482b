#include "worker/shell/job_facts.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace capstan::worker {
namespace {

v1::JobSpec JobOfTwoFeatures() {
  v1::JobSpec job;
  job.set_job("likes");
  job.set_seed(1);
  job.mutable_model()->set_user("m.py");
  job.mutable_model()->set_outputs(1);
  job.mutable_train()->set_batch_size(64);
  job.mutable_train()->set_step_threads(1);
  for (const char* name : {"user", "item"}) {
    v1::TableSpec& table = *job.add_tables();
    table.set_name(name);
    table.set_dim(8);
    v1::FeatureSpec& feature = *job.mutable_data()->add_features();
    feature.set_name(name);
    feature.set_table(name);
    v1::LabelSpec& label = *job.mutable_data()->add_labels();
    label.set_name(name);
    label.set_weight(1);
  }
  return job;
}

std::string DifferenceAfter(const std::function<void(v1::JobSpec&)>& change) {
  const v1::JobSpec job = JobOfTwoFeatures();
  v1::JobSpec other = job;
  change(other);
  return JobFactsDifference(Job(job), Job(other));
}

TEST(JobFactsTest, WhateverAProgramIsGivenIsTold) {
  const std::vector<std::pair<std::function<void(v1::JobSpec&)>, std::string>> cases = {
      {[](v1::JobSpec& job) { job.set_seed(77); }, "seed was 1 and is 77"},
      {[](v1::JobSpec& job) { job.mutable_train()->set_batch_size(32); },
       "train.batch_size was 64 and is 32"},
      {[](v1::JobSpec& job) { job.mutable_train()->set_sum_loss(true); },
       "train.gradient was mean and is sum"},
      {[](v1::JobSpec& job) { job.mutable_train()->set_step_threads(2); },
       "train.step_threads was 1 and is 2"},
      {[](v1::JobSpec& job) { job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC); },
       "job.synchronous was no and is yes"},
      {[](v1::JobSpec& job) { job.mutable_model()->set_outputs(3); },
       "model.outputs was 1 and is 3"},
      {[](v1::JobSpec& job) { job.mutable_tables(1)->set_dim(4); },
       "job.dims was [8, 8] and is [8, 4]"},
      {[](v1::JobSpec& job) { job.mutable_data()->mutable_labels(1)->set_weight(0.5f); },
       "data.schema.labels was [user (weight 1, logistic), item (weight 1, logistic)] and is [user "
       "(weight 1, logistic), item (weight 0.5, logistic)]"},
      {[](v1::JobSpec& job) { job.mutable_data()->mutable_features(1)->set_table("user"); },
       "data.features was [user (table 0, sum), item (table 1, sum)] and is [user (table 0, sum), "
       "item (table 0, sum)]"},
  };
  for (const auto& [change, told] : cases) EXPECT_EQ(DifferenceAfter(change), told);
}

TEST(JobFactsTest, AllDifferencesAreInOneLine) {
  EXPECT_EQ(DifferenceAfter([](v1::JobSpec& job) {
              job.set_seed(2);
              job.mutable_train()->set_batch_size(32);
            }),
            "seed was 1 and is 2; train.batch_size was 64 and is 32");
}

TEST(JobFactsTest, WhatAProgramIsNotGivenAndWhatMayComeWhileItRunsAreNoDifference) {
  EXPECT_EQ(DifferenceAfter([](v1::JobSpec& job) {
              job.mutable_train()->set_epochs(9);
              job.mutable_train()->set_step_timeout_seconds(9);
              job.mutable_checkpoint()->set_uri("/elsewhere");
              job.mutable_data()->add_eval("held_out.csv");
              job.add_tensors()->set_name("w");
            }),
            "");
}

}  // namespace
}  // namespace capstan::worker
