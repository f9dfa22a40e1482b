#include "worker/shell/lease_results.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/data/formats/batch.h"
#include "capstan/model/group_auc.h"

namespace capstan::worker {
namespace {

class LeaseResultsTest : public testing::Test {
 protected:
  LeaseResultsTest() {
    job_.mutable_model()->set_loss(v1::LOSS_SQUARED);
    job_.mutable_model()->set_outputs(1);
  }

  void SetBatch(std::vector<float> labels, std::vector<float> weights = {}) {
    auto batch = std::make_shared<Batch>();
    batch->labels = std::move(labels);
    batch->weights = std::move(weights);
    step_.batch = std::move(batch);
  }

  static v1::LeaseReport ReportOf(const LeaseResults& results, bool finished = false) {
    v1::LeaseReport report;
    report.set_finished(finished);
    results.Fill(report);
    return report;
  }

  v1::JobSpec job_ = [] {
    v1::JobSpec job;
    job.set_partition_count(1);
    return job;
  }();
  const ParameterMap map_ = *ParameterMap::Create(job_);
  Step step_{map_};
  GroupedExamples grouped_;
};

TEST_F(LeaseResultsTest, ALossIsToldAsIfItsExamplesWeighedOne) {
  LeaseResults results(job_, v1::LEASE_KIND_TASK, grouped_);
  SetBatch({1, 0}, /*weights=*/{1, 3});
  step_.loss_sum = 8;
  const Computed event = results.Take(7, step_);
  EXPECT_EQ(event.batch, 7u);
  EXPECT_EQ(event.loss_sum, 4);
  EXPECT_FALSE(event.nonfinite);
  EXPECT_FALSE(ReportOf(results).has_evaluation());
  EXPECT_FALSE(ReportOf(results, /*finished=*/true).has_evaluation());
}

TEST_F(LeaseResultsTest, ALossThatIsNoNumberIsReportedEverAfter) {
  LeaseResults results(job_, v1::LEASE_KIND_LANE, grouped_);
  SetBatch({1});
  step_.loss_sum = std::numeric_limits<double>::quiet_NaN();
  step_.nonfinite = true;
  EXPECT_TRUE(results.Take(0, step_).nonfinite);
  step_.loss_sum = 1;
  step_.nonfinite = false;
  EXPECT_FALSE(results.Take(1, step_).nonfinite);
  EXPECT_TRUE(ReportOf(results).nonfinite_loss());
}

TEST_F(LeaseResultsTest, AGradientThatIsNoNumberDoesNotMakeTheLossOne) {
  LeaseResults results(job_, v1::LEASE_KIND_TASK, grouped_);
  SetBatch({1});
  step_.loss_sum = 1;
  step_.nonfinite = true;
  EXPECT_TRUE(results.Take(0, step_).nonfinite);
  EXPECT_FALSE(ReportOf(results).nonfinite_loss());
}

TEST_F(LeaseResultsTest, AnEvaluationAddsUpItsBatchesAndIsToldWithItsEnd) {
  LeaseResults results(job_, v1::LEASE_KIND_EVALUATION, grouped_);
  SetBatch({1, 2});
  step_.logits = {1, 4};
  const Computed event = results.Take(3, step_);
  EXPECT_EQ(event.batch, 3u);
  EXPECT_EQ(event.loss_sum, 0) << "nothing is trained";
  SetBatch({5});
  step_.logits = {4};
  results.Take(4, step_);
  EXPECT_FALSE(ReportOf(results).has_evaluation());
  const v1::LeaseReport report = ReportOf(results, /*finished=*/true);
  EXPECT_EQ(report.evaluation().examples(), 3u);
  EXPECT_EQ(report.evaluation().squared_error(), 4 + 1);
}

TEST_F(LeaseResultsTest, AnEvaluationMeasuresEachLabelByItsLoss) {
  job_.mutable_model()->set_outputs(2);
  job_.mutable_data()->add_labels()->set_name("amount");
  v1::LabelSpec& bought = *job_.mutable_data()->add_labels();
  bought.set_name("bought");
  bought.set_loss(v1::LOSS_LOGISTIC);
  LeaseResults results(job_, v1::LEASE_KIND_EVALUATION, grouped_);
  SetBatch({5, 1});
  step_.logits = {2, -1};
  results.Take(0, step_);
  const v1::EvaluationResult sums = ReportOf(results, /*finished=*/true).evaluation();
  ASSERT_EQ(sums.labels_size(), 2);
  EXPECT_EQ(sums.labels(0).absolute_error(), 3);
  EXPECT_EQ(sums.labels(1).absolute_error(), 0);
  EXPECT_FALSE(sums.labels(1).positives().empty());
}

TEST_F(LeaseResultsTest, OfAHundredThousandExamplesWithGroupsNoneIsLeftOutHoweverManyThreads) {
  job_.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  job_.mutable_train()->set_compute_threads(16);
  LeaseResults results(job_, v1::LEASE_KIND_EVALUATION, grouped_);
  auto batch = std::make_shared<Batch>();
  for (uint64_t i = 0; i < 100'000; ++i) {
    batch->labels.push_back(i % 2 == 0 ? 1 : 0);
    batch->groups.push_back(Mix64(i / 10 + 1));
  }
  step_.logits.assign(batch->labels.size(), 0.5f);
  step_.batch = std::move(batch);
  results.Take(0, step_);
  const v1::EvaluationResult sums = ReportOf(results, /*finished=*/true).evaluation();
  EXPECT_EQ(sums.groups().groups_size(), 100'000);
  EXPECT_EQ(ShareOfGroups(sums.groups()), 1);
}

TEST_F(LeaseResultsTest, WhatTheUsersProgramSaysIsReportedAndElseNothing) {
  LeaseResults results(job_, v1::LEASE_KIND_TASK, grouped_);
  EXPECT_FALSE(ReportOf(results).has_user_code());
  v1::UserCodeError error;
  error.set_type("ValueError");
  results.Fail(error);
  EXPECT_EQ(ReportOf(results).user_code().type(), "ValueError");
}

}  // namespace
}  // namespace capstan::worker
