// What job.yaml may say, and what becomes of it.
#include "capstan/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSmall[] = R"(job: small
data: {format: libsvm, train: [a.libsvm]}
model: {preset: lr}
)";

// The spec of a text that must be good.
v1::JobSpec Good(const std::string& text, const JobOptions& options = {}) {
  const absl::StatusOr<v1::JobSpec> spec = ParseJob({.text = text, .folder = "/jobs"}, options);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.value_or(v1::JobSpec());
}

TEST(ParseJobTest, ReadsHowPartitionsMove) {
  EXPECT_FALSE(Good(kSmall).has_rebalance()) << "a job stored before there was any says the same";
  EXPECT_FALSE(Good(absl::StrCat(kSmall, "rebalance: manual\n")).rebalance().automatic());
  const v1::JobSpec spec =
      Good(absl::StrCat(kSmall, "rebalance: auto\nrebalance_bytes_per_second: 8MiB\n"));
  EXPECT_TRUE(spec.rebalance().automatic());
  EXPECT_EQ(spec.rebalance().bytes_per_second(), uint64_t{8} << 20);
}

TEST(ParseJobTest, ReadsTheExampleOfTheDesign) {
  const v1::JobSpec spec = Good(R"(
job: criteo-deepfm
data:
  format: csv
  train: [train/*.csv.gz]
  eval:  [test.csv.gz]
  schema: {label: 0, numeric: "1-13", categorical: "14-39"}
model:   {preset: deepfm, embedding_dim: 8, hidden: [400, 300]}
optimizer:
  sparse: {kind: adagrad, learning_rate: 0.02}
  dense:  {kind: adam, learning_rate: 0.002}
update:
  sparse: {policy: ssp, staleness: 4, stale_gradients: scale}
  dense:  {policy: sync, lanes: 8, backup_workers: 1}
train:   {batch_size: 512, epochs: 3}
checkpoint: {uri: out, every: 5m, keep: 2}
recovery: rollback
)");
  EXPECT_EQ(spec.job(), "criteo-deepfm");
  EXPECT_EQ(spec.data().format(), v1::DATA_FORMAT_CSV);
  EXPECT_THAT(spec.data().train(), ElementsAre("/jobs/train/*.csv.gz"));
  EXPECT_THAT(spec.data().eval(), ElementsAre("/jobs/test.csv.gz"));
  EXPECT_EQ(spec.data().numeric_size(), 13);
  EXPECT_EQ(spec.data().numeric(12).column(), 13u);
  EXPECT_EQ(spec.data().categorical_size(), 26);
  EXPECT_EQ(spec.data().categorical(0).column(), 14u);
  EXPECT_EQ(spec.model().preset(), "deepfm");
  EXPECT_EQ(spec.model().embedding_dim(), 8u);
  EXPECT_THAT(spec.model().hidden(), ElementsAre(400, 300));
  EXPECT_EQ(spec.sparse_optimizer().kind(), v1::OPTIMIZER_KIND_ADAGRAD);
  EXPECT_FLOAT_EQ(spec.sparse_optimizer().learning_rate(), 0.02);
  EXPECT_EQ(spec.dense_optimizer().kind(), v1::OPTIMIZER_KIND_ADAM);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().learning_rate(), 0.002);
  EXPECT_EQ(spec.sparse_update().kind(), v1::POLICY_KIND_SSP);
  EXPECT_EQ(spec.sparse_update().staleness(), 4u);
  EXPECT_EQ(spec.sparse_update().stale_gradients(), v1::STALE_GRADIENTS_SCALE);
  EXPECT_EQ(spec.dense_update().kind(), v1::POLICY_KIND_SYNC);
  EXPECT_EQ(spec.dense_update().lanes(), 8u);
  EXPECT_EQ(spec.dense_update().backup_workers(), 1u);
  EXPECT_EQ(spec.train().batch_size(), 512u);
  EXPECT_EQ(spec.train().epochs(), 3u);
  EXPECT_EQ(spec.checkpoint().uri(), "/jobs/out");
  EXPECT_EQ(spec.checkpoint().every_seconds(), 300);
  EXPECT_EQ(spec.checkpoint().keep(), 2u);
  EXPECT_EQ(spec.recovery(), v1::RECOVERY_ROLLBACK);
}

TEST(ParseJobTest, FillsInEveryDefault) {
  const v1::JobSpec spec = Good(kSmall);
  EXPECT_EQ(spec.seed(), 1u);
  EXPECT_EQ(spec.partition_count(), 256u);
  EXPECT_TRUE(spec.data().shuffle());
  EXPECT_EQ(spec.data().pieces(), 16u);
  EXPECT_EQ(spec.data().max_bad_records(), 0u);
  EXPECT_FALSE(spec.data().binarize_label());
  EXPECT_EQ(spec.model().embedding_dim(), 16u);
  EXPECT_FLOAT_EQ(spec.model().embedding_learning_rate_scale(), 1);
  EXPECT_EQ(spec.table_limits().admission_count(), 1u);
  EXPECT_EQ(spec.dense_optimizer().kind(), v1::OPTIMIZER_KIND_ADAM);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().learning_rate(), 0.001);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().beta1(), 0.9);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().beta2(), 0.999);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().epsilon(), 1e-8);
  EXPECT_EQ(spec.sparse_optimizer().kind(), v1::OPTIMIZER_KIND_ADAGRAD);
  EXPECT_FLOAT_EQ(spec.sparse_optimizer().learning_rate(), 0.05);
  EXPECT_FLOAT_EQ(spec.sparse_optimizer().initial_accumulator(), 0.1);
  EXPECT_EQ(spec.dense_update().kind(), v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(spec.sparse_update().kind(), v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(spec.sparse_update().aggregate(), 1u);
  EXPECT_EQ(spec.train().batch_size(), 1024u);
  EXPECT_EQ(spec.train().epochs(), 1u);
  EXPECT_EQ(spec.train().compute_threads(), 1u);
  EXPECT_EQ(spec.train().wire_dtype(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(spec.train().prefetch_batches(), 2u);
  EXPECT_EQ(spec.train().push_window(), 1u);
  EXPECT_EQ(spec.lease().heartbeat_seconds(), 1);
  EXPECT_EQ(spec.lease().worker_lease_seconds(), 10);
  EXPECT_EQ(spec.lease().shard_lease_seconds(), 10);
  EXPECT_EQ(spec.replicas(), 0u);
  EXPECT_EQ(spec.recovery(), v1::RECOVERY_ROLLBACK);
}

TEST(ParseJobTest, ReplicasAndTheLeaseOfShardsAreRead) {
  const v1::JobSpec spec =
      Good(std::string(kSmall) + "replicas: 1\nrecovery: replica\nshard_lease: 3s\n");
  EXPECT_EQ(spec.replicas(), 1u);
  EXPECT_EQ(spec.recovery(), v1::RECOVERY_REPLICA);
  EXPECT_EQ(spec.lease().shard_lease_seconds(), 3);
}

TEST(ParseJobTest, ReadsTransformsOfNumericColumns) {
  const v1::DataSpec data = Good(R"(
job: t
data:
  format: tsv
  train: a.tsv
  schema:
    label: 0
    numeric:
    - "1-2"
    - {columns: [3, "4-5"], transform: log, missing: -1}
    - {columns: 6, transform: bucket, boundaries: [0, 1.5, 10]}
model: {preset: lr}
)")
                                .data();
  ASSERT_EQ(data.numeric_size(), 6);
  EXPECT_EQ(data.numeric(1).column(), 2u);
  EXPECT_EQ(data.numeric(1).transform(), v1::NUMERIC_TRANSFORM_UNSPECIFIED);
  EXPECT_EQ(data.numeric(4).column(), 5u);
  EXPECT_EQ(data.numeric(4).transform(), v1::NUMERIC_TRANSFORM_LOG);
  EXPECT_EQ(data.numeric(4).missing(), -1);
  EXPECT_EQ(data.numeric(5).transform(), v1::NUMERIC_TRANSFORM_BUCKET);
  EXPECT_THAT(data.numeric(5).boundaries(), ElementsAre(0, 1.5, 10));
}

TEST(ParseJobTest, OneTransformNeedsNoList) {
  const v1::DataSpec data = Good(R"(
job: t
data:
  format: csv
  train: a.csv
  schema: {numeric: {columns: "1-13", transform: log}}
model: {preset: lr}
)")
                                .data();
  ASSERT_EQ(data.numeric_size(), 13);
  EXPECT_EQ(data.numeric(12).transform(), v1::NUMERIC_TRANSFORM_LOG);
}

TEST(ParseJobTest, ReadsTowersAndSchedules) {
  const v1::JobSpec spec = Good(R"(
job: t
data: {format: synthetic, synthetic: {train_rows: 20k, eval_rows: 5k, vocabulary: [10, 20]}}
model:
  towers:
  - {kind: linear}
  - {kind: mlp, name: deep, hidden: [64, 32]}
optimizer:
  dense:
    kind: momentum
    nesterov: true
    schedule: {kind: step, warmup_examples: 1k, decay_examples: 2M, decay_rate: 0.5, floor: 0.01}
)");
  EXPECT_EQ(spec.data().synthetic().train_rows(), 20000u);
  EXPECT_THAT(spec.data().synthetic().vocabulary(), ElementsAre(10, 20));
  ASSERT_EQ(spec.model().towers_size(), 2);
  EXPECT_EQ(spec.model().towers(0).name(), "linear");
  EXPECT_EQ(spec.model().towers(1).name(), "deep");
  EXPECT_THAT(spec.model().towers(1).hidden(), ElementsAre(64, 32));
  EXPECT_TRUE(spec.dense_optimizer().nesterov());
  EXPECT_FLOAT_EQ(spec.dense_optimizer().momentum(), 0.9);
  const v1::ScheduleSpec& schedule = spec.dense_optimizer().schedule();
  EXPECT_EQ(schedule.kind(), v1::SCHEDULE_KIND_STEP);
  EXPECT_EQ(schedule.warmup_examples(), 1000u);
  EXPECT_EQ(schedule.decay_examples(), 2000000u);
  EXPECT_FLOAT_EQ(schedule.decay_rate(), 0.5);
  EXPECT_FLOAT_EQ(schedule.floor(), 0.01);
}

// A job of towers whose dense optimizer is this.
std::string WithDense(const std::string& dense) {
  return "job: t\ndata: {format: libsvm, train: a}\nmodel: {preset: lr}\noptimizer: {dense: " +
         dense + "}\n";
}

TEST(ParseJobTest, AGroupOfTensorsHasTheDenseOptimizersSettingsWhereItDoesNotSay) {
  const v1::JobSpec spec = Good(WithDense(
      "{kind: momentum, learning_rate: 0.8, momentum: 0.5, nesterov: true, weight_decay: 1e-4, "
      "schedule: {kind: cosine, decay_examples: 1k}, groups: [{match: [\"*.bias\", \"*bn*\"], "
      "weight_decay: 0}, {match: head.*, learning_rate: 0.1, nesterov: false, schedule: {kind: "
      "constant}}, {match: w, kind: sgd}]}"));
  ASSERT_EQ(spec.dense_groups_size(), 3);
  const v1::OptimizerGroup& plain = spec.dense_groups(0);
  EXPECT_THAT(plain.match(), ElementsAre("*.bias", "*bn*"));
  EXPECT_EQ(plain.optimizer().kind(), v1::OPTIMIZER_KIND_MOMENTUM);
  EXPECT_FLOAT_EQ(plain.optimizer().learning_rate(), 0.8);
  EXPECT_FLOAT_EQ(plain.optimizer().momentum(), 0.5);
  EXPECT_TRUE(plain.optimizer().nesterov());
  EXPECT_EQ(plain.optimizer().weight_decay(), 0);
  EXPECT_EQ(plain.optimizer().schedule().decay_examples(), 1000u);
  EXPECT_FLOAT_EQ(spec.dense_optimizer().weight_decay(), 1e-4);
  const v1::OptimizerSpec& head = spec.dense_groups(1).optimizer();
  EXPECT_FLOAT_EQ(head.learning_rate(), 0.1);
  EXPECT_FALSE(head.nesterov());
  EXPECT_EQ(head.schedule().kind(), v1::SCHEDULE_KIND_UNSPECIFIED);
  EXPECT_EQ(head.schedule().decay_examples(), 0u);
  const v1::OptimizerSpec& other = spec.dense_groups(2).optimizer();
  EXPECT_FLOAT_EQ(other.learning_rate(), 0.01) << "another kind has its own defaults";
  EXPECT_EQ(other.weight_decay(), 0);
}

TEST(ParseJobTest, RefusesAGroupOfTensorsThatSaysWhatCannotBe) {
  const auto refusal = [](const std::string& dense) {
    return std::string(ParseJob({.text = WithDense(dense)}).status().message());
  };
  EXPECT_THAT(refusal("{groups: [{weight_decay: 0}]}"),
              HasSubstr("optimizer.dense.groups[0].match: is missing; expected names of tensors"));
  EXPECT_THAT(refusal("{groups: [{match: w, kind: rowwise_adagrad}]}"),
              HasSubstr("optimizer.dense.groups[0].kind: rowwise_adagrad is for rows of tables"));
  EXPECT_THAT(refusal("{groups: [{match: w, momentum: 0.5}]}"),
              HasSubstr("optimizer.dense.groups[0].momentum: is not a setting of adam"));
  EXPECT_THAT(refusal("{}, sparse: {groups: [{match: w}]}"),
              HasSubstr("optimizer.sparse.groups: "));
}

TEST(ParseJobTest, LeavesPathsThatAreAbsoluteOrHaveASchemeAlone) {
  const v1::JobSpec spec = Good(R"(
job: t
data: {format: libsvm, train: [/data/a, "file:///data/b", sub/../c]}
model: {preset: lr}
)");
  EXPECT_THAT(spec.data().train(), ElementsAre("/data/a", "file:///data/b", "/jobs/c"));
  EXPECT_EQ(spec.checkpoint().uri(), "");
}

TEST(ParseJobTest, AnOverrideGoesOverTheFile) {
  const v1::JobSpec spec =
      Good(kSmall, {.overrides = {"train.epochs=7", "model.hidden=[8, 4]", "data.train=b",
                                  "update.dense={policy: sync, lanes: 3}"}});
  EXPECT_EQ(spec.train().epochs(), 7u);
  EXPECT_THAT(spec.model().hidden(), ElementsAre(8, 4));
  EXPECT_THAT(spec.data().train(), ElementsAre("/jobs/b"));
  EXPECT_EQ(spec.dense_update().lanes(), 3u);
}

TEST(ParseJobTest, LanesComeFromTheOptionsWhereTheFileIsSilent) {
  const std::string text =
      std::string(kSmall) + "update: {dense: {policy: sync}, sparse: {policy: sync, lanes: 5}}\n";
  EXPECT_EQ(Good(text, {.default_lanes = 5}).dense_update().lanes(), 5u);
  EXPECT_EQ(Good(kSmall, {.default_lanes = 5}).dense_update().lanes(), 0u);
}

TEST(ConfigTest, ImagesHaveThreeChannelsAndAreNotAugmentedUnlessTheJobSaysSo) {
  const v1::ImageSpec image = Good(R"(
job: a
data: {format: tar, train: a.tar, image: {height: 28, width: 30}}
model: {preset: softmax, outputs: 10}
)")
                                  .data()
                                  .image();
  EXPECT_EQ(image.height(), 28u);
  EXPECT_EQ(image.width(), 30u);
  EXPECT_EQ(image.channels(), 3u);
  EXPECT_FALSE(image.random_crop());
  EXPECT_FALSE(image.random_flip());
  EXPECT_EQ(image.image_member(), "");
  const v1::ImageSpec other = Good(R"(
job: a
data:
  format: tfrecord
  train: a
  image: {height: 8, width: 8, channels: 1, random_crop: true, random_flip: true, member: image, label: y}
model: {preset: softmax, outputs: 10}
)")
                                  .data()
                                  .image();
  EXPECT_EQ(other.channels(), 1u);
  EXPECT_TRUE(other.random_crop() && other.random_flip());
  EXPECT_EQ(other.image_member() + " " + other.label_member(), "image y");
}

TEST(JobKeysTest, NamesKeysOfSectionsAndOfListItems) {
  std::set<std::string> names;
  for (const JobKey& key : JobKeys()) names.insert(key.key);
  EXPECT_THAT(
      names, testing::IsSupersetOf({"job", "data.schema.numeric[].transform", "model.towers[].kind",
                                    "optimizer.sparse.schedule.kind", "update.dense.lanes",
                                    "train.early_stop.metric", "checkpoint.uri", "worker_lease"}));
}

TEST(ParseJobTest, HeldOutRecordsMayBeSetsByName) {
  const absl::StatusOr<v1::JobSpec> job = ParseJob({.text = R"(
job: sets
data:
  format: csv
  train: a.csv
  eval: {all: [b.csv, c.csv], recent: d.csv}
  schema: {label: 0, categorical: 1}
model: {preset: lr}
train: {early_stop: {metric: recent/auc}}
)"});
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::DataSpec& data = job->data();
  EXPECT_THAT(data.eval(), testing::ElementsAre("b.csv", "c.csv", "d.csv"));
  ASSERT_EQ(data.eval_sets_size(), 2);
  EXPECT_EQ(data.eval_sets(0).name(), "all");
  EXPECT_EQ(data.eval_sets(0).files(), 2u);
  EXPECT_EQ(data.eval_sets(1).name(), "recent");
  EXPECT_EQ(data.eval_sets(1).files(), 1u);
  EXPECT_EQ(job->train().early_stop().metric(), "recent/auc");
}

TEST(ParseJobTest, ColumnsMayBeNamedAndStandardized) {
  const absl::StatusOr<v1::JobSpec> job = ParseJob({.text = R"(
job: census
data:
  format: csv
  header: true
  train: adult.csv
  schema:
    label: income
    positive: [">50K", ">50K."]
    weight: fnlwgt_rounded
    group: education
    categorical: [workclass, education]
    numeric: [3, {columns: [age, fnlwgt], transform: standard},
              {columns: hours, transform: standard, mean: 40, deviation: 12.5},
              {columns: [height, weight], transform: standard, file: lists/numbers.tsv}]
model: {preset: lr}
)",
                                                    .folder = "/jobs"});
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::DataSpec& data = job->data();
  EXPECT_EQ(data.label_name(), "income");
  EXPECT_EQ(data.weight().name(), "fnlwgt_rounded");
  EXPECT_EQ(data.group().name(), "education") << "which is a categorical column, too";
  EXPECT_THAT(data.positive_labels(), testing::ElementsAre(">50K", ">50K."));
  EXPECT_EQ(data.categorical(1).name(), "education");
  ASSERT_EQ(data.numeric_size(), 6);
  EXPECT_EQ(data.numeric(0).column(), 3u);
  EXPECT_EQ(data.numeric(2).name(), "fnlwgt");
  EXPECT_EQ(data.numeric(2).transform(), v1::NUMERIC_TRANSFORM_STANDARD);
  EXPECT_EQ(data.numeric(2).deviation(), 0) << "to be measured";
  EXPECT_EQ(data.numeric(3).mean(), 40);
  EXPECT_EQ(data.numeric(3).deviation(), 12.5);
  EXPECT_EQ(data.numeric(5).file(), "/jobs/lists/numbers.tsv");
}

}  // namespace
}  // namespace capstan
