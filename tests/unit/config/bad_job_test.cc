// What job.yaml may not say: each mistake is one line with its place and what was expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(BadJobTest, AnUnknownKeyIsNamedWithTheOneThatWasPerhapsMeant) {
  EXPECT_EQ(RefusalOf("train: {batch_sise: 5}"),
            "job.yaml:4: train.batch_sise: unknown key; did you mean batch_size?");
  EXPECT_EQ(RefusalOf("recovrey: rollback"),
            "job.yaml:4: recovrey: unknown key; did you mean recovery?");
}

TEST(BadJobTest, AnUnknownKeyLikeNoOtherIsAnsweredWithTheKeysThereAre) {
  EXPECT_EQ(
      RefusalOf("checkpoint: {colour: red}"),
      "job.yaml:4: checkpoint.colour: unknown key; expected one of every, keep, max_deltas, uri");
}

TEST(BadJobTest, OnlyStepsOfAProgramCanHang) {
  EXPECT_EQ(RefusalOf("train: {step_timeout: 5m}"),
            "job.yaml:4: train.step_timeout: is only for model.user, a program of your own");
}

TEST(BadJobTest, AProgramHasTheLayersAndComputesOneStepAtATime) {
  const std::string data = "job: a\ndata: {format: csv, train: a, schema: {categorical: 1}}\n";
  EXPECT_EQ(Refusal(data + "model: {user: m.py, preset: deepfm}\n"),
            "job.yaml:3: model.preset: cannot stand beside user: the program has the layers");
  EXPECT_EQ(Refusal(data + "model: {user: m.py, hidden: [4]}\n"),
            "job.yaml:3: model.hidden: cannot stand beside user: the program has the layers");
  EXPECT_THAT(Refusal(data + "model: {user: m.py}\ntrain: {compute_threads: 2}\n"),
              HasSubstr("train.compute_threads: must be 1 with model.user"));
}

TEST(BadJobTest, ImagesNeedASizeOfWhichTheModelIsMade) {
  const auto refusal = [](const std::string& data) {
    return Refusal("job: a\ndata: {train: a, " + data +
                   "}\nmodel: {preset: softmax, outputs: 2}\n");
  };
  EXPECT_THAT(refusal("format: tar"), HasSubstr("data.image.height: is missing"));
  EXPECT_THAT(refusal("format: tar, image: {height: 8}"),
              HasSubstr("data.image.width: is missing"));
  EXPECT_THAT(refusal("format: tar, image: {height: 8, width: 8, channels: 2}"),
              HasSubstr("data.image.channels: must be 1 (grey) or 3"));
  EXPECT_THAT(refusal("format: folder, image: {height: 8, width: 8, label: cls}"),
              HasSubstr("data.image.label: is only for format: tar and tfrecord"));
  EXPECT_THAT(refusal("format: idx, image: {height: 8, width: 8}"),
              HasSubstr("data.image: is only for format: tar, tfrecord and folder"));
}

TEST(BadJobTest, AKeyGivenTwiceIsRefusedAtItsSecondPlace) {
  EXPECT_EQ(RefusalOf("train:\n  epochs: 1\n  epochs: 2"),
            "job.yaml:6: train.epochs: is given twice");
  EXPECT_EQ(RefusalOf("job: again"), "job.yaml:4: job: is given twice");
}

TEST(BadJobTest, AWrongWordIsAnsweredWithTheRightOnes) {
  EXPECT_EQ(
      Refusal("job: a\ndata:\n  format: cvs\n  train: a\nmodel: {preset: lr}\n"),
      "job.yaml:3: data.format: \"cvs\" is not one of csv, tsv, libsvm, libfm, idx, synthetic, "
      "tar, tfrecord, folder, parquet; did you mean csv?");
}

TEST(BadJobTest, AWrongTypeIsNamed) {
  EXPECT_EQ(
      RefusalOf("train: {epochs: many}"),
      "job.yaml:4: train.epochs: \"many\" is not a whole number such as 5000, 10k or 1M, from 1 "
      "to 1000000");
  EXPECT_THAT(RefusalOf("train: {epochs: \"3\"}"),
              HasSubstr("\"3\" (in quotes, hence text) is not"));
  EXPECT_THAT(RefusalOf("train: {epochs: 1.5}"), HasSubstr("\"1.5\" is not a whole number"));
  EXPECT_THAT(RefusalOf("train: {epochs: [1]}"), HasSubstr("a list is not a whole number"));
  EXPECT_THAT(RefusalOf("train: {epochs: }"), HasSubstr("nothing is not a whole number"));
  EXPECT_EQ(RefusalOf("train: 5"), "job.yaml:4: train: \"5\" is not a map of keys");
  EXPECT_EQ(RefusalOf("train: [5]"), "job.yaml:4: train: a list is not a map of keys");
  EXPECT_THAT(RefusalOf("checkpoint: {every: 5}"),
              HasSubstr("\"5\" is not a time such as 250ms, 10s or 5m"));
  EXPECT_THAT(RefusalOf("table: {byte_budget: much}"),
              HasSubstr("\"much\" is not a size such as 64MiB"));
  EXPECT_EQ(RefusalOf("job: {a: b}").substr(0, 19), "job.yaml:4: job: is");
}

TEST(BadJobTest, OnlyTrueAndFalseAreFlags) {
  EXPECT_EQ(Refusal("job: a\ndata: {format: libfm, train: a, shuffle: yes}\nmodel: {preset: fm}\n"),
            "job.yaml:2: data.shuffle: \"yes\" is not true or false");
}

TEST(BadJobTest, AnImpossibleValueIsRefusedWithItsRange) {
  EXPECT_THAT(RefusalOf("train: {batch_size: 0}"), EndsWith("from 1 to 1048576"));
  EXPECT_THAT(RefusalOf("train: {batch_size: -1}"), HasSubstr("\"-1\" is not a whole number"));
  EXPECT_THAT(RefusalOf("partition_count: 99999999999999999999"), HasSubstr("is not a whole"));
  for (const std::string rate : {"0", "-0.1", "nan", "inf", ".nan", "1e99", "\"0.1\"", "x"}) {
    EXPECT_THAT(RefusalOf("optimizer: {dense: {learning_rate: " + rate + "}}"),
                HasSubstr("optimizer.dense.learning_rate: \""))
        << rate;
  }
  EXPECT_THAT(RefusalOf("optimizer: {dense: {kind: adam, beta1: 1}}"), HasSubstr("dense.beta1: "));
  EXPECT_THAT(RefusalOf("optimizer: {dense: {kind: adam, epsilon: 0}}"),
              EndsWith("above 0 and at most 1"));
  EXPECT_THAT(Refusal("job: a\ndata: {format: libfm, train: a}\n"
                      "model: {preset: fm, embedding_stddev: .nan}\n"),
              HasSubstr("model.embedding_stddev: \".nan\" is not a number"));
}

TEST(BadJobTest, WhatIsMissingIsNamed) {
  const std::string refusal = Refusal("seed: 3\n");
  EXPECT_THAT(refusal, HasSubstr("job.yaml: job: is missing"));
  EXPECT_THAT(refusal, HasSubstr("data.format: is missing; expected csv, tsv, libsvm, libfm, idx, "
                                 "synthetic, tar, tfrecord, folder or parquet"));
  EXPECT_THAT(refusal, HasSubstr("data.train: is missing"));
  EXPECT_THAT(refusal, HasSubstr("model.preset: is missing"));
}

TEST(BadJobTest, AnEmptyFileIsNoJob) {
  EXPECT_THAT(Refusal(""), HasSubstr("job: is missing"));
  EXPECT_THAT(Refusal("# nothing\n"), HasSubstr("job: is missing"));
}

TEST(BadJobTest, SomethingElseThanAMapIsNoJob) {
  EXPECT_THAT(Refusal("- a\n- b\n"), HasSubstr("job.yaml:1: a list is not a map of keys"));
  EXPECT_THAT(Refusal("hello"), HasSubstr("job.yaml:1: \"hello\" is not a map of keys"));
}

TEST(BadJobTest, AllMistakesAreShownALineEach) {
  EXPECT_EQ(
      RefusalOf("train: {epochs: 0, clip_norm: -1}\nseeds: 4"),
      "job.yaml:4: train.epochs: \"0\" is not a whole number such as 5000, 10k or 1M, from 1 to "
      "1000000\n"
      "job.yaml:4: train.clip_norm: \"-1\" is not a number, above 0\n"
      "job.yaml:5: seeds: unknown key; did you mean seed?");
}

TEST(BadJobTest, TooManyMistakesAreCounted) {
  std::string text = Job("");
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "wrong", i, ": 1\n");
  EXPECT_THAT(Refusal(text), EndsWith("\njob.yaml: and 30 more mistakes"));
}

TEST(BadJobTest, TheJobsNameMustDoForKubernetes) {
  for (const std::string name : {"Criteo", "a_b", "-a", "a-", "a/b", "\"a\\nb\"", "..", "\"\"",
                                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_THAT(
        Refusal("job: " + name + "\ndata: {format: libfm, train: a}\nmodel: {preset: fm}\n"),
        AllOf(StartsWith("job.yaml:1: job: "), HasSubstr("is not a name of at most 52")))
        << name;
  }
}

TEST(BadJobTest, APolicyNeedsItsSettingsAndHasNoOthers) {
  EXPECT_EQ(RefusalOf("update: {sparse: {policy: ssp}}"),
            "job.yaml:4: update.sparse.staleness: is missing: policy: ssp needs it");
  EXPECT_EQ(RefusalOf("update: {dense: {policy: sync}}"),
            "job.yaml:4: update.dense.lanes: is missing: policy: sync needs it");
  EXPECT_EQ(RefusalOf("update: {dense: {policy: async, staleness: 3}}"),
            "job.yaml:4: update.dense.staleness: is only for policy: ssp");
  EXPECT_EQ(RefusalOf("update: {dense: {policy: ssp, staleness: 3, aggregate: 2}}"),
            "job.yaml:4: update.dense.aggregate: is only for policy: async");
  EXPECT_EQ(RefusalOf("update: {dense: {policy: sync, lanes: 4, backup_workers: 4}}"),
            "job.yaml:4: update.dense.backup_workers: 4 is not less than lanes, 4");
  EXPECT_EQ(RefusalOf("update: {dense: {stale_gradients: drop}}"),
            "job.yaml:4: update.dense.drop_above: is missing: stale_gradients: drop needs it");
  EXPECT_EQ(RefusalOf("update: {dense: {lambda: 0.1}}"),
            "job.yaml:4: update.dense.lambda: is only for stale_gradients: compensate");
  EXPECT_EQ(RefusalOf("update: {dense: {policy: sync, lanes: 2, stale_gradients: scale}}"),
            "job.yaml:4: update.dense.stale_gradients: is only for policy: async and ssp");
}

TEST(BadJobTest, TwoSynchronousPartsHaveTheSameLanes) {
  EXPECT_THAT(
      RefusalOf("update: {dense: {policy: sync, lanes: 2}, sparse: {policy: sync, lanes: 4}}"),
      HasSubstr("job.yaml:4: update.dense.lanes: 2 differs from update.sparse.lanes, 4"));
}

TEST(BadJobTest, PartialRecoveryIsNotForSynchronousParts) {
  EXPECT_THAT(RefusalOf("recovery: partial\nupdate: {dense: {policy: sync, lanes: 2}}"),
              StartsWith("job.yaml:4: recovery: partial would tear"));
  EXPECT_THAT(RefusalOf("recovery: none"),
              EndsWith("\"none\" is not one of rollback, partial, replica"));
}

TEST(BadJobTest, ThereIsOneReplicaAtMost) {
  EXPECT_THAT(RefusalOf("replicas: 2"), HasSubstr("job.yaml:4: replicas: "));
  EXPECT_THAT(RefusalOf("replicas: 2"), HasSubstr("1"));
  EXPECT_THAT(RefusalOf("recovery: replica"),
              StartsWith("job.yaml:4: recovery: replica needs replicas: 1"));
  EXPECT_THAT(RefusalOf("shard_lease: 100ms"), StartsWith("job.yaml:4: shard_lease: "));
}

TEST(BadJobTest, PartialRecoveryNeedsCheckpointsToGoBackTo) {
  EXPECT_THAT(RefusalOf("recovery: partial\ncheckpoint: {uri: /tmp/model, every: 0s}"),
              StartsWith("job.yaml:4: recovery: partial takes a shard back to the last checkpoint, "
                         "and checkpoint.every is 0"));
  EXPECT_EQ(RefusalOf("recovery: partial"),
            "job.yaml:4: recovery: partial takes a shard back to the last checkpoint, and there "
            "are none without checkpoint.uri; expected rollback, or a checkpoint.uri");
  const std::string often = Job("recovery: partial\ncheckpoint: {uri: /tmp/model}\n");
  EXPECT_TRUE(ParseJob({.text = often}, {}).ok()) << "checkpoint.every has a default";
}

TEST(BadJobTest, AnOptimizerHasOnlyItsOwnSettings) {
  EXPECT_EQ(RefusalOf("optimizer: {sparse: {kind: sgd, beta1: 0.5}}"),
            "job.yaml:4: optimizer.sparse.beta1: is not a setting of sgd");
  EXPECT_EQ(RefusalOf("optimizer: {sparse: {kind: adam, nesterov: true}}"),
            "job.yaml:4: optimizer.sparse.nesterov: is not a setting of adam");
  EXPECT_EQ(RefusalOf("optimizer: {sparse: {kind: ftrl, schedule: {warmup_examples: 5}}}"),
            "job.yaml:4: optimizer.sparse.schedule: is not a setting of ftrl");
  EXPECT_THAT(RefusalOf("optimizer: {sparse: {kind: adamm}}"), EndsWith("did you mean adam?"));
  EXPECT_THAT(RefusalOf("optimizer: {dense: {kind: rowwise_adagrad}}"),
              HasSubstr("optimizer.dense.kind: rowwise_adagrad is for rows of tables"));
}

TEST(BadJobTest, AScheduleNeedsItsSettings) {
  EXPECT_EQ(RefusalOf("optimizer: {dense: {schedule: {kind: cosine}}}"),
            "job.yaml:4: optimizer.dense.schedule.decay_examples: is missing");
  EXPECT_EQ(RefusalOf("optimizer: {dense: {schedule: {kind: step, decay_examples: 5}}}"),
            "job.yaml:4: optimizer.dense.schedule.decay_rate: is missing");
  EXPECT_EQ(RefusalOf("optimizer: {dense: {schedule: {decay_examples: 5}}}"),
            "job.yaml:4: optimizer.dense.schedule.decay_examples: means nothing to this kind of "
            "schedule");
}

TEST(BadJobTest, AFormatHasOnlyItsOwnKeys) {
  EXPECT_EQ(
      Refusal("job: a\ndata: {format: libfm, train: a, schema: {label: 3}}\nmodel: {preset: fm}\n"),
      "job.yaml:2: data.schema: is only for format: csv, tsv and parquet");
  EXPECT_EQ(
      Refusal("job: a\ndata: {format: parquet, train: a, header: true, schema: {numeric: b}}\n"
              "model: {preset: fm}\n"),
      "job.yaml:2: data.header: is only for format: csv and tsv");
  EXPECT_EQ(Refusal("job: a\ndata: {format: csv, train: a}\nmodel: {preset: fm}\n"),
            "job.yaml:2: data.schema: needs numeric or categorical columns, such as categorical: "
            "\"1-39\"");
  EXPECT_EQ(Refusal("job: a\ndata: {format: synthetic, train: a}\nmodel: {preset: fm}\n"),
            "job.yaml:2: data.train: means nothing with format: synthetic");
}

TEST(BadJobTest, ColumnsAreNumbersAndRangesUsedOnce) {
  const auto refusal = [](const std::string& schema) {
    return Refusal("job: a\ndata: {format: csv, train: a, schema: {" + schema +
                   "}}\nmodel: {preset: fm}\n");
  };
  for (const std::string columns : {"\"5-1\"", "\"a\"", "\"1-\"", "-3", "\"1,,2\"", "\"\"",
                                    "\"0-4000000000\"", "99999999999", "{a: 1}"}) {
    EXPECT_THAT(refusal("label: 9, categorical: " + columns),
                HasSubstr("data.schema.categorical: "))
        << columns;
  }
  EXPECT_EQ(refusal("label: 0, categorical: \"0-3\""),
            "job.yaml:2: data.schema.categorical: column 0 is used twice");
  EXPECT_EQ(refusal("label: 0, numeric: \"1-3\", categorical: \"3-4\""),
            "job.yaml:2: data.schema.categorical: column 3 is used twice");
  EXPECT_EQ(refusal("label: 0, weight: 0, categorical: 1"),
            "job.yaml:2: data.schema.weight: column 0 is used twice");
  EXPECT_EQ(refusal("label: 0, weight: \"1-2\", categorical: 3"),
            "job.yaml:2: data.schema.weight: is one column");
  EXPECT_EQ(
      refusal("numeric: {columns: 1, transform: bucket}"),
      "job.yaml:2: data.schema.numeric[0].boundaries: is missing: transform: bucket needs them");
  EXPECT_EQ(refusal("numeric: {columns: 1, transform: bucket, boundaries: [2, 1]}"),
            "job.yaml:2: data.schema.numeric[0].boundaries: must ascend");
  EXPECT_THAT(refusal("numeric: [{column: 1}]"), HasSubstr("numeric[0].column: unknown key"));
}

TEST(BadJobTest, ALossFitsItsOutputsAndLabels) {
  const std::string head = "job: a\ndata: {format: libsvm, train: a, label_threshold: 0}\n";
  EXPECT_EQ(Refusal("job: a\ndata: {format: idx, train: a}\n"
                    "model: {preset: softmax, loss: softmax, outputs: 1}\n"),
            "job.yaml:3: model.outputs: loss: softmax needs at least 2, one a class");
  EXPECT_EQ(Refusal("job: a\ndata: {format: libsvm, train: a}\n"
                    "model: {preset: lr, loss: logistic, outputs: 10}\n"),
            "job.yaml:3: model.outputs: 10 is only for loss: softmax");
  EXPECT_THAT(Refusal(head + "model: {preset: lr, loss: squared}\n"),
              StartsWith("job.yaml:2: data.label_threshold: makes labels 0 and 1"));
}

TEST(BadJobTest, AWorkersLeaseSpansSeveralHeartbeats) {
  EXPECT_THAT(RefusalOf("heartbeat: 5s"), HasSubstr("worker_lease: must be at least 3 heartbeats"));
}

TEST(BadJobTest, AnObjectStoreThatIsUnknownIsRefused) {
  for (const char* uri : {"gs://bucket/x", "s3://bucket", "s3:///x", "file://x"}) {
    EXPECT_EQ(RefusalOf(absl::StrCat("checkpoint: {uri: \"", uri, "\"}")),
              "job.yaml:4: checkpoint.uri: is not supported; expected a folder, file:///folder or "
              "s3://bucket/prefix");
  }
}

TEST(BadJobTest, AnOverrideIsNamedAsThePlace) {
  EXPECT_THAT(Refusal(Job(""), {.overrides = {"train.epochs=many"}}),
              StartsWith("--set train.epochs=many: train.epochs: \"many\" is not"));
  EXPECT_EQ(Refusal(Job(""), {.overrides = {"train.epoch=3"}}),
            "--set train.epoch=3: train.epoch: unknown key; did you mean epochs?");
  for (const std::string bad : {"train.epochs", "", "=3", ".a=3", "a..b=1"}) {
    EXPECT_THAT(Refusal(Job(""), {.overrides = {bad}}),
                EndsWith(": expected key=value, such as train.epochs=5"))
        << bad;
  }
  EXPECT_THAT(Refusal(Job(""), {.overrides = {"job.x=3"}}),
              HasSubstr("cannot set \"x\" within a single value"));
  EXPECT_THAT(Refusal(Job(""), {.overrides = {"train.epochs=[1"}}),
              HasSubstr("the value is not YAML"));
}

TEST(BadJobTest, TextFromTheFileCannotForgeALineOfTheMessage) {
  EXPECT_THAT(RefusalOf("\"a\\njob.yaml:9: fine\": 1"), Not(HasSubstr("\njob.yaml:9")));
  EXPECT_THAT(RefusalOf("recovery: \"x\\ny\""), HasSubstr("\"x\\ny\" is not one of"));
}

TEST(BadJobTest, NamesOfColumnsNeedALineOfNamesAndAreUsedOnce) {
  const auto refusal = [](const std::string& data) {
    return Refusal("job: a\ndata: {format: csv, train: a, " + data + "}\nmodel: {preset: fm}\n");
  };
  EXPECT_THAT(refusal("schema: {label: income, categorical: 1}"),
              HasSubstr("data.schema.label: \"income\" is not columns such as"));
  EXPECT_THAT(refusal("schema: {label: income, categorical: 1}"), HasSubstr("data.header: true"));
  EXPECT_EQ(refusal("header: true, schema: {label: income, categorical: [job, income]}"),
            "job.yaml:2: data.schema.categorical: column \"income\" is used twice");
  EXPECT_THAT(refusal("schema: {label: \"0-1\", categorical: 2}"),
              HasSubstr("data.schema.label: is one column"));
}

TEST(BadJobTest, LabelsHaveOneMeaning) {
  const auto refusal = [](const std::string& schema, const std::string& more) {
    return Refusal("job: a\ndata: {format: csv, train: a, schema: {label: 0, categorical: 1" +
                   schema + "}" + more + "}\nmodel: {preset: fm}\n");
  };
  EXPECT_THAT(refusal(", positive: a, classes: [a, b]", ""),
              HasSubstr("data.schema.classes: cannot"));
  EXPECT_THAT(refusal(", classes: a", ""), HasSubstr("data.schema.classes: must name two or more"));
  EXPECT_THAT(refusal(", classes: [a, b, a]", ""),
              HasSubstr("data.schema.classes: names one twice"));
  EXPECT_THAT(refusal(", positive: a", ", label_threshold: 1"),
              HasSubstr("data.label_threshold: "));
  EXPECT_THAT(refusal(", positive: a", ", label_transform: standard"),
              HasSubstr("data.label_transform: "));
  EXPECT_THAT(refusal("", ", label_mean: 3, label_deviation: 1"),
              HasSubstr("data.label_mean: is only for a transform: standard"));
  EXPECT_THAT(refusal("", ", label_transform: standard, label_mean: 3"),
              HasSubstr("data.label_deviation: is missing beside label_mean"));
}

TEST(BadJobTest, AValueOfAnOverrideIsNotBlamedOnTheFile) {
  const auto job = ParseJob({.text = "job: demo\n"
                                     "data: {format: libfm, train: a, fields: 2}\n"
                                     "model: {preset: fm}\n"},
                            {.overrides = {"job=Bad_Name"}});
  EXPECT_EQ(std::string(job.status().message()).substr(0, 22), "--set job=Bad_Name: jo");
}

}  // namespace
}  // namespace capstan
