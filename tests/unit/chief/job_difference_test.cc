#include "chief/job_difference.h"

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
              AllOf(StartsWith("refused"), HasSubstr("freshStart"),
                    HasSubstr("train.batch_size: 128 -> 256"), Not(HasSubstr("every_seconds"))));
}

TEST(JobChangeTest, AnotherPaceOfCheckpointsAwaitsTheNextStart) {
  v1::JobSpec wanted = CtrJob();
  wanted.mutable_checkpoint()->set_every_seconds(30);
  EXPECT_THAT(JobChange(CtrJob(), wanted),
              AllOf(StartsWith("taken up when the chief is started again"),
                    HasSubstr("checkpoint.every_seconds: 60 -> 30")));
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

}  // namespace
}  // namespace capstan::chief
