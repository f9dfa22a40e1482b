#include "capstan/config/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/config/config.h"

namespace capstan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A job with one table of 17 floats (Adagrad) and one tensor of 1000 x 250 (Adam).
v1::JobSpec DescribedJob(const std::string& more = "") {
  const auto spec = ParseJob({.text = "job: ctr\n"
                                      "data: {format: libfm, train: a, eval: b, fields: 10}\n"
                                      "model: {preset: deepfm}\n"
                                      "checkpoint: {uri: out}\n" +
                                      more});
  EXPECT_TRUE(spec.ok()) << spec.status();
  v1::JobSpec job = *spec;
  v1::TableSpec& table = *job.add_tables();
  table.set_dim(17);
  *table.mutable_optimizer() = job.sparse_optimizer();
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.add_shape(1000);
  tensor.add_shape(250);
  *tensor.mutable_optimizer() = job.dense_optimizer();
  return job;
}

constexpr JobScale kScale = {.train_tasks = 24,
                             .eval_tasks = 4,
                             .shards = 2,
                             .workers = 3,
                             .dense_bytes = 1'500'000,
                             .row_bytes = 168};

TEST(DescribeJobTest, TellsDataModelPoliciesTasksAndMemory) {
  EXPECT_THAT(
      DescribeJob(DescribedJob("update: {dense: {policy: sync, lanes: 3}}\n"), kScale).lines,
      ElementsAre("job       ctr", "data      libfm, 10 keys a record",
                  "model     deepfm, 17 floats a row, 250000 dense parameters in 1 tensors",
                  "dense     adam, learning rate 0.001, sync (3 lanes, 0 backup)",
                  "sparse    adagrad, learning rate 0.05, async",
                  "training  24 tasks, 1 epoch, batches of 1024; evaluation 4 tasks",
                  StartsWith("memory    1.4MiB dense, 168 bytes a row at most: ")));
}

TEST(DescribeJobTest, TellsGroupsOfTensorsAndWarnsOfTheirRates) {
  const JobDescription description = DescribeJob(
      DescribedJob("optimizer: {dense: {kind: adamw, groups: [{match: [\"*bias*\", \"*bn*\"], "
                   "weight_decay: 0, learning_rate: 99}]}}\n"),
      kScale);
  EXPECT_THAT(description.lines,
              Contains("group     *bias*, *bn*: adamw, learning rate 99, weight decay 0"));
  EXPECT_THAT(description.warnings,
              Contains(StartsWith("optimizer.dense.groups[0].learning_rate: 99 is odd for adamw")));
}

TEST(DescribeJobTest, NamesTheSetsOfHeldOutRecordsAndSaysThatExamplesHaveWeightsAndGroups) {
  v1::JobSpec job = DescribedJob();
  for (const char* name : {"all", "late"}) job.mutable_data()->add_eval_sets()->set_name(name);
  job.mutable_data()->mutable_weight();
  job.mutable_data()->mutable_group();
  const std::vector<std::string> lines = DescribeJob(job, kScale).lines;
  EXPECT_THAT(lines, Contains("data      libfm, 10 keys a record, weighted, in groups"));
  EXPECT_THAT(lines,
              Contains("training  24 tasks, 1 epoch, batches of 1024; evaluation 4 tasks, of "
                       "all, late"));
}

TEST(DescribeJobTest, AProgramsDenseTensorsAreNotKnownYet) {
  v1::JobSpec job = DescribedJob();
  job.mutable_model()->clear_preset();
  job.mutable_model()->set_user("m.py");
  job.clear_tensors();
  const std::vector<std::string> lines = DescribeJob(job, kScale).lines;
  EXPECT_THAT(lines, Contains("model     the program m.py, 17 floats a row, dense tensors as its "
                              "first worker declares them"));
  EXPECT_THAT(lines, Contains(StartsWith("memory    dense as declared, ")));
}

TEST(DescribeJobTest, MemoryIsThatOfTheRowsOfOneShard) {
  JobScale scale = kScale;
  scale.expected_rows = 1000000;
  EXPECT_THAT(DescribeJob(DescribedJob(), scale).lines.back(),
              HasSubstr("168 bytes a row at most: 80MiB for about 1000000 rows over 2 shards"));
}

TEST(DescribeJobTest, MemoryStaysWithinTheBudget) {
  JobScale scale = kScale;
  scale.expected_rows = 1000000;
  EXPECT_THAT(DescribeJob(DescribedJob("table: {byte_budget: 20MiB}\n"), scale).lines.back(),
              HasSubstr("168 bytes a row at most: 10MiB"));
}

TEST(DescribeJobTest, AJobWithNothingOddHasNoWarning) {
  EXPECT_THAT(DescribeJob(DescribedJob(), kScale).warnings, IsEmpty());
}

TEST(DescribeJobTest, WarnsOfARateFarFromWhatIsUsual) {
  EXPECT_THAT(
      DescribeJob(DescribedJob("optimizer: {dense: {kind: adam, learning_rate: 1000000}}\n"),
                  kScale)
          .warnings,
      ElementsAre("optimizer.dense.learning_rate: 1e+06 is odd for adam, of which 1e-05 to 0.1 are "
                  "usual; the loss may explode"));
  EXPECT_THAT(
      DescribeJob(DescribedJob("optimizer: {sparse: {kind: sgd, learning_rate: 1e-9}}\n"), kScale)
          .warnings,
      ElementsAre(HasSubstr("the model will hardly learn")));
}

TEST(DescribeJobTest, WarnsOfFewerTasksThanComputeThreads) {
  JobScale scale = kScale;
  scale.train_tasks = 5;
  EXPECT_THAT(DescribeJob(DescribedJob("train: {compute_threads: 2}\n"), scale).warnings,
              ElementsAre(StartsWith("5 tasks for 6 compute threads")));
}

TEST(DescribeJobTest, WarnsOfIdleWorkersAndEmptyLanes) {
  EXPECT_THAT(
      DescribeJob(DescribedJob("update: {sparse: {policy: sync, lanes: 2}}\n"), kScale).warnings,
      ElementsAre("2 lanes for 3 compute threads: some will have nothing to do"));
  EXPECT_THAT(
      DescribeJob(DescribedJob("update: {sparse: {policy: sync, lanes: 32}}\n"), kScale).warnings,
      ElementsAre("32 lanes for 24 tasks: some lanes have no data"));
}

TEST(DescribeJobTest, WithReplicasEachRowIsHeldTwiceWhereThereAreTwoShards) {
  const v1::JobSpec job = DescribedJob("replicas: 1\n");
  JobScale scale = kScale;
  scale.row_bytes = 100;
  scale.shards = 2;
  const JobDescription two = DescribeJob(job, scale);
  EXPECT_THAT(two.lines.back(), testing::EndsWith("over 2 shards, each row twice (replicas: 1)"));
  scale.shards = 1;
  const JobDescription one = DescribeJob(job, scale);
  EXPECT_THAT(one.lines.back(), testing::Not(testing::HasSubstr("twice")));
  EXPECT_THAT(one.warnings, Contains(StartsWith("replicas: 1 has no effect with one shard")));
}

TEST(DescribeJobTest, WarnsOfWhatHasNoEffect) {
  v1::JobSpec job = DescribedJob("");
  job.mutable_checkpoint()->set_every_seconds(60);
  job.mutable_checkpoint()->clear_uri();
  JobScale scale = kScale;
  scale.eval_tasks = 0;
  scale.shards = 300;
  const std::vector<std::string> warnings = DescribeJob(job, scale).warnings;
  EXPECT_THAT(warnings, Contains(StartsWith("no checkpoint.uri")));
  EXPECT_THAT(warnings, Contains(StartsWith("checkpoint.every has no effect")));
  EXPECT_THAT(warnings, Contains(StartsWith("no data.eval")));
  EXPECT_THAT(warnings, Contains(StartsWith("300 shards for 256 partitions")));
}

}  // namespace
}  // namespace capstan
