// train and checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

v1::JobSpec JobWithLine(const std::string& line) {
  const auto job = ParseJob({.text = capstan::Job(line + "\n"), .folder = "/jobs"});
  EXPECT_TRUE(job.ok()) << line << ": " << job.status();
  return job.value_or(v1::JobSpec());
}

TEST(ReadTrainTest, GradientsAreMeansUnlessTheJobSaysSums) {
  EXPECT_FALSE(JobWithLine("train: {}").train().sum_loss());
  EXPECT_FALSE(JobWithLine("train: {gradient: mean}").train().sum_loss());
  EXPECT_TRUE(JobWithLine("train: {gradient: sum}").train().sum_loss());
}

TEST(ReadTrainTest, PatienceIsForAMetric) {
  EXPECT_THAT(RefusalOf("train: {early_stop: {patience: 3}}"),
              HasSubstr("train.early_stop.metric: is missing; expected one of auc, group_auc, "
                        "logloss, accuracy, rmse, mae"));
}

TEST(ReadTrainTest, OnlyAProgramOfOnesOwnHasATimeForItsSteps) {
  EXPECT_EQ(JobWithLine("train: {}").train().step_timeout_seconds(), 0)
      << "not even the default, which would show in the job";
}

TEST(ReadCheckpointTest, WithoutAPlaceThereAreNone) {
  EXPECT_EQ(JobWithLine("train: {}").checkpoint().every_seconds(), 0);
  EXPECT_GT(JobWithLine("checkpoint: {uri: out}").checkpoint().every_seconds(), 0);
  EXPECT_EQ(JobWithLine("checkpoint: {uri: out, every: 90s}").checkpoint().every_seconds(), 90);
  EXPECT_EQ(JobWithLine("checkpoint: {uri: out}").checkpoint().uri(), "/jobs/out");
}

TEST(ReadCheckpointTest, NoneButTheLastIsZeroSecondsAndLessThanOneIsNoTime) {
  EXPECT_EQ(JobWithLine("checkpoint: {uri: out, every: 0s}").checkpoint().every_seconds(), 0);
  EXPECT_EQ(JobWithLine("checkpoint: {uri: out, every: 1s}").checkpoint().every_seconds(), 1);
  EXPECT_EQ(RefusalOf("checkpoint: {uri: out, every: 999ms}"),
            "job.yaml:4: checkpoint.every: is less than a second; expected at least 1s, or 0s for "
            "none but the last");
}

TEST(ReadCheckpointTest, APlaceIsAFolderOrAnAddressThatIsKnown) {
  for (const char* uri : {"s3://bucket/ctr", "file:///out", "/out", "out/here"}) {
    EXPECT_NE(JobWithLine(absl::StrCat("checkpoint: {uri: \"", uri, "\"}")).checkpoint().uri(), "")
        << uri;
  }
  for (const char* uri : {"gs://bucket/ctr", "s3://bucket", "s3://bucket/", "file://out",
                          "http://store/ctr", "://x"}) {
    EXPECT_THAT(RefusalOf(absl::StrCat("checkpoint: {uri: \"", uri, "\"}")),
                HasSubstr("checkpoint.uri: is not supported; expected a folder, file:///folder or "
                          "s3://bucket/prefix"))
        << uri;
  }
}

}  // namespace
}  // namespace capstan
