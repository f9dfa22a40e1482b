#include "capstan/config/cross_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/functional/function_ref.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

// A job that nothing is wrong with.
v1::JobSpec Job() {
  v1::JobSpec job;
  job.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  job.mutable_data()->add_train("train.csv");
  job.mutable_model()->set_preset("lr");
  job.mutable_checkpoint()->set_uri("/out");
  job.mutable_checkpoint()->set_every_seconds(300);
  job.mutable_train()->set_compute_threads(1);
  return job;
}

// What is wrong with that job after `change`; empty: nothing.
std::string After(absl::FunctionRef<void(v1::JobSpec&)> change) {
  v1::JobSpec job = Job();
  change(job);
  Findings findings("job.yaml");
  CheckAcrossSections(job, findings);
  return std::string(findings.status().message());
}

void MakeSync(v1::UpdatePolicy& policy, uint32_t lanes) {
  policy.set_kind(v1::POLICY_KIND_SYNC);
  policy.set_lanes(lanes);
}

TEST(CheckAcrossSectionsTest, SynchronousPartsMoveInTheSameRounds) {
  EXPECT_EQ(After([](v1::JobSpec&) {}), "");
  EXPECT_EQ(After([](v1::JobSpec& job) {
              MakeSync(*job.mutable_dense_update(), 4);
              MakeSync(*job.mutable_sparse_update(), 4);
            }),
            "");
  EXPECT_EQ(After([](v1::JobSpec& job) {
              MakeSync(*job.mutable_dense_update(), 4);
              MakeSync(*job.mutable_sparse_update(), 5);
            }),
            "job.yaml: update.dense.lanes: 4 differs from update.sparse.lanes, 5: two synchronous "
            "parts move in the same rounds");
  EXPECT_EQ(After([](v1::JobSpec& job) { MakeSync(*job.mutable_dense_update(), 4); }), "")
      << "the other part has no lanes";
}

TEST(CheckAcrossSectionsTest, ReplicasAreWhatRecoveryByReplicaNeeds) {
  const auto recovery_by_replica = [](uint32_t replicas) {
    return After([replicas](v1::JobSpec& job) {
      job.set_recovery(v1::RECOVERY_REPLICA);
      job.set_replicas(replicas);
    });
  };
  EXPECT_THAT(recovery_by_replica(0), HasSubstr("recovery: replica needs replicas: 1"));
  EXPECT_EQ(recovery_by_replica(1), "");
}

TEST(CheckAcrossSectionsTest, OnlyASoftmaxHasSeveralOutputsOfOneLabel) {
  const auto outputs = [](v1::Loss loss, uint32_t outputs) {
    return After([&](v1::JobSpec& job) {
      job.mutable_model()->set_loss(loss);
      job.mutable_model()->set_outputs(outputs);
    });
  };
  EXPECT_EQ(outputs(v1::LOSS_SOFTMAX, 10), "");
  EXPECT_EQ(outputs(v1::LOSS_LOGISTIC, 1), "");
  EXPECT_THAT(outputs(v1::LOSS_SOFTMAX, 1), HasSubstr("needs at least 2, one a class"));
  EXPECT_THAT(outputs(v1::LOSS_SQUARED, 2), HasSubstr("model.outputs: 2 is only for"));
}

TEST(CheckAcrossSectionsTest, AThresholdMakesLabelsOfALogisticLoss) {
  const auto threshold = [](v1::Loss loss) {
    return After([loss](v1::JobSpec& job) {
      job.mutable_model()->set_loss(loss);
      job.mutable_data()->set_binarize_label(true);
    });
  };
  EXPECT_EQ(threshold(v1::LOSS_LOGISTIC), "");
  EXPECT_THAT(threshold(v1::LOSS_SQUARED), HasSubstr("data.label_threshold: makes labels 0 and 1"));
}

TEST(CheckAcrossSectionsTest, AProgramComputesOneStepAtATime) {
  const auto with_threads = [](uint32_t threads) {
    return After([&](v1::JobSpec& job) {
      job.mutable_model()->clear_preset();
      job.mutable_model()->set_user("model.py");
      job.mutable_train()->set_compute_threads(threads);
    });
  };
  EXPECT_EQ(with_threads(1), "");
  EXPECT_THAT(with_threads(2), HasSubstr("train.compute_threads: must be 1"));
}

TEST(CheckAcrossSectionsTest, TowersTakeFeaturesAsBagsThatAreSumsOrMeans) {
  const auto with_feature = [](const std::string& program, v1::Pooling pooling) {
    return After([&](v1::JobSpec& job) {
      v1::FeatureSpec& seen = *job.mutable_data()->add_features();
      seen.set_name("seen");
      seen.set_table("t");
      seen.set_pooling(pooling);
      if (program.empty()) return;
      job.mutable_model()->clear_preset();
      job.mutable_model()->set_user(program);
    });
  };
  EXPECT_EQ(with_feature("", v1::POOLING_SUM), "");
  EXPECT_EQ(with_feature("", v1::POOLING_MEAN), "");
  EXPECT_EQ(with_feature("model.py", v1::POOLING_NONE), "");
  EXPECT_THAT(with_feature("", v1::POOLING_NONE),
              HasSubstr("data.features.seen.pooling: none is a sequence"));
}

TEST(CheckAcrossSectionsTest, NegativesBesideFeaturesAreForPrograms) {
  const auto with = [](const std::string& program, bool negatives) {
    return After([&](v1::JobSpec& job) {
      job.mutable_data()->add_features()->set_table("t");
      if (negatives) job.mutable_data()->mutable_negatives()->set_per_batch(4);
      if (program.empty()) return;
      job.mutable_model()->clear_preset();
      job.mutable_model()->set_user(program);
    });
  };
  EXPECT_EQ(with("", false), "");
  EXPECT_EQ(with("model.py", true), "");
  EXPECT_THAT(with("", true), HasSubstr("data.negatives: are for the loss of a program"));
}

TEST(CheckAcrossSectionsTest, AThousandTablesAreTheMostOfAJob) {
  const auto tables = [](int count) {
    return After([count](v1::JobSpec& job) {
      job.mutable_model()->set_user("model.py");
      for (int i = 0; i < count; ++i) {
        job.mutable_data()->add_features()->set_table("t" + std::to_string(i));
      }
    });
  };
  EXPECT_EQ(tables(1000), "");
  EXPECT_THAT(tables(1001), HasSubstr("they have 1001 tables; a job has at most 1000"));
}

TEST(CheckAcrossSectionsTest, WhatIsMeasuredNeedsHeldOutRecords) {
  const auto stops_by = [](const std::string& metric, bool held_out) {
    return After([&](v1::JobSpec& job) {
      job.mutable_train()->mutable_early_stop()->set_metric(metric);
      if (held_out) job.mutable_data()->add_eval("test.csv");
    });
  };
  EXPECT_EQ(stops_by("auc", true), "");
  EXPECT_THAT(stops_by("auc", false), HasSubstr("train.early_stop: needs data.eval"));
  EXPECT_THAT(stops_by("rmse", true),
              HasSubstr("rmse is not measured with loss: logistic; expected one of auc, logloss"));
  EXPECT_THAT(stops_by("recent/auc", true), HasSubstr("is no further set of data.eval"));
  EXPECT_THAT(After([](v1::JobSpec& job) { job.mutable_train()->set_evaluate_every_examples(9); }),
              HasSubstr("train.evaluate_every_examples: needs data.eval"));
}

TEST(CheckAcrossSectionsTest, AFurtherLabelMayHaveNoNameOfASet) {
  EXPECT_THAT(After([](v1::JobSpec& job) {
                for (const char* name : {"click", "recent"}) {
                  v1::LabelSpec& label = *job.mutable_data()->add_labels();
                  label.set_name(name);
                  label.set_weight(1);
                }
                job.mutable_data()->add_eval("day-7.csv");
                v1::EvalSet& set = *job.mutable_data()->add_eval_sets();
                set.set_name("recent");
                set.set_files(1);
              }),
              HasSubstr("recent is the name of a set of data.eval, too"));
}

}  // namespace
}  // namespace capstan
