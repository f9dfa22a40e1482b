#include "chief/shell/job_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::JobSpec CtrJob() {
  v1::JobSpec spec;
  spec.set_job("ctr");
  spec.mutable_checkpoint()->set_uri("s3://bucket/models");
  spec.mutable_checkpoint()->set_every_seconds(60);
  spec.mutable_train()->set_batch_size(128);
  return spec;
}

TEST(JobChangeTest, OfAFileThatSaysWhatIsDoneThereIsNone) {
  EXPECT_EQ(JobChange(CtrJob(), CtrJob()), "");
}

TEST(JobChangeTest, AnotherMeaningOfProgressIsRefusedAndToldAlone) {
  v1::JobSpec wanted = CtrJob();
  wanted.mutable_train()->set_batch_size(256);
  wanted.mutable_checkpoint()->set_every_seconds(30);
  EXPECT_THAT(JobChange(CtrJob(), wanted),
              AllOf(StartsWith("refused"), HasSubstr("freshStart"), HasSubstr("chief.from"),
                    HasSubstr("train.batch_size: 128 -> 256"), Not(HasSubstr("checkpoint.every"))));
}

TEST(JobChangeTest, AnotherPaceOfCheckpointsAwaitsTheNextStart) {
  v1::JobSpec wanted = CtrJob();
  wanted.mutable_checkpoint()->set_every_seconds(30);
  EXPECT_THAT(JobChange(CtrJob(), wanted),
              AllOf(StartsWith("taken up when the chief is started again"),
                    HasSubstr("checkpoint.every: 1m -> 30s")));
}

TEST(JobChangeTest, OtherHeldOutRecordsAreTakenUpAndTheBestBeginsAnew) {
  v1::JobSpec running = CtrJob();
  v1::JobSpec wanted = running;
  wanted.mutable_data()->add_eval("b.csv");
  EXPECT_THAT(JobChange(running, wanted), HasSubstr("nothing is lost by that:\n"))
      << "nothing was evaluated before";
  running.mutable_data()->add_eval("a.csv");
  EXPECT_THAT(JobChange(running, wanted), AllOf(StartsWith("taken up when the chief is started"),
                                                HasSubstr("the best model and early stopping begin "
                                                          "anew with the first evaluation")));
}

TEST(JobChangeTest, ThatTasksHavePiecesByDefaultIsNoChangeOfAJobThatHasNone) {
  v1::JobSpec running = CtrJob();
  running.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  v1::JobSpec wanted = running;
  wanted.mutable_data()->set_pieces(16);
  EXPECT_EQ(JobChange(running, wanted), "");
}

TEST(JobChangeTest, AnotherPlaceIsAnotherJob) {
  v1::JobSpec wanted = CtrJob();
  wanted.mutable_checkpoint()->set_uri("s3://bucket/elsewhere");
  EXPECT_THAT(JobChange(CtrJob(), wanted), StartsWith("another job"));
}

TEST(JobChangeTest, MistakesAreToldAsTheyAre) {
  EXPECT_THAT(JobChange(CtrJob(), absl::InvalidArgumentError("job.yaml:3: train.epochs: -1")),
              AllOf(StartsWith("refused"), HasSubstr("job.yaml:3: train.epochs: -1")));
}

TEST(JobChangeTest, WhatWasMeasuredIsNoChangeOfTheFile) {
  v1::JobSpec running = CtrJob();
  running.mutable_data()->set_standardize_label(true);
  v1::JobSpec wanted = running;
  running.mutable_data()->set_label_mean(4000);
  running.mutable_data()->set_label_deviation(10);
  EXPECT_EQ(JobChange(running, wanted), "");
  wanted.mutable_data()->set_label_mean(1);
  wanted.mutable_data()->set_label_deviation(2);
  EXPECT_THAT(JobChange(running, wanted), HasSubstr("label_mean"));
}

TEST(JobDifferenceTest, KeysThatMayChangeAreNone) {
  v1::JobSpec now = CtrJob();
  now.mutable_checkpoint()->set_keep(7);
  now.mutable_lease()->set_worker_lease_seconds(30);
  now.mutable_data()->mutable_group()->set_name("user");
  now.mutable_data()->add_eval_sets()->set_name("recent");
  now.mutable_train()->mutable_early_stop()->set_metric("auc");
  now.set_recovery(v1::RECOVERY_PARTIAL);
  EXPECT_EQ(JobDifference(CtrJob(), now), "");
  now.mutable_train()->set_epochs(2);
  EXPECT_EQ(JobDifference(CtrJob(), now), "train.epochs: 0 -> 2\n");
}

TEST(ModelDifferenceTest, NamesTheFirstTableOrTensorThatDoesNotFit) {
  v1::JobSpec other, now;
  v1::TableSpec& table = *other.add_tables();
  table.set_name("features");
  table.set_dim(17);
  table.set_seed(1);
  *now.add_tables() = table;
  EXPECT_EQ(ModelDifference(other, now), "");
  v1::TensorSpec& tensor = *now.add_tensors();
  tensor.set_name("mlp.w0");
  tensor.add_shape(160);
  tensor.add_shape(64);
  EXPECT_EQ(ModelDifference(other, now), "it has no tensor 0, this job tensor mlp.w0 of 160x64");
  now.mutable_tables(0)->set_dim(9);
  EXPECT_EQ(ModelDifference(other, now),
            "it has table features of 17 floats a row (seed 1), this job table features of 9 "
            "floats a row (seed 1)");
}

}  // namespace
}  // namespace capstan::chief
