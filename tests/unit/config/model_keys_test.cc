// data.features and the tables in which they have their rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kJob[] = R"(
job: ads
data:
  format: csv
  header: true
  train: a.csv
  schema: {label: bought, numeric: [price]}
  features:
    user: {column: user_id, kind: id}
    history: {column: clicked, kind: id, table: item, many: true, separator: ";", most: 50, pooling: mean}
    recent: {column: clicked, kind: id, table: item, many: true, pooling: none}
    city: {column: city, buckets: 1M}
tables:
  user: {dim: 32, optimizer: {kind: rowwise_adagrad, learning_rate: 0.5}, expire_after_examples: 1G}
  item: {admission_count: 3}
table: {byte_budget: 1GiB}
model: {user: deepfm.py, embedding_dim: 8}
)";

absl::StatusOr<v1::JobSpec> Parsed(const std::string& text) {
  return ParseJob({.text = text, .name = "job.yaml", .folder = "/jobs"});
}

std::string Replaced(std::string from, const std::string& what, const std::string& by) {
  const size_t at = from.find(what);
  EXPECT_NE(at, from.npos) << what;
  return from.replace(at, what.size(), by);
}

std::string RefusalWith(const std::string& what, const std::string& by) {
  return std::string(Parsed(Replaced(kJob, what, by)).status().message());
}

TEST(FeaturesTest, AreReadInTheirOrderWithTheirDefaults) {
  const auto job = Parsed(kJob);
  ASSERT_TRUE(job.ok()) << job.status();
  const auto& features = job->data().features();
  ASSERT_EQ(features.size(), 4);
  EXPECT_EQ(features[0].name(), "user");
  EXPECT_EQ(features[0].table(), "user") << "the feature's own, unless it says another";
  EXPECT_EQ(features[0].kind(), v1::KEY_KIND_ID);
  EXPECT_EQ(features[0].column_name(), "user_id");
  EXPECT_FALSE(features[0].many());
  EXPECT_EQ(features[1].table(), "item");
  EXPECT_EQ(features[1].separator(), ";");
  EXPECT_EQ(features[1].most(), 50u);
  EXPECT_EQ(features[1].pooling(), v1::POOLING_MEAN);
  EXPECT_EQ(features[2].separator(), "|");
  EXPECT_EQ(features[2].most(), 1000u);
  EXPECT_EQ(features[2].pooling(), v1::POOLING_NONE);
  EXPECT_EQ(features[3].kind(), v1::KEY_KIND_HASH);
  EXPECT_EQ(features[3].buckets(), 1000000u);
}

TEST(FeaturesTest, ATableHasWhatHoldsForAllWhereItDoesNotSay) {
  const auto job = Parsed(kJob);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->table_settings_size(), 2);
  const v1::TableSettings& user = job->table_settings(0);
  EXPECT_EQ(user.name(), "user");
  EXPECT_EQ(user.dim(), 32u);
  EXPECT_EQ(user.optimizer().kind(), v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD);
  EXPECT_EQ(user.limits().expire_after_examples(), 1000000000u);
  EXPECT_EQ(user.limits().byte_budget(), uint64_t{1} << 30);
  EXPECT_EQ(user.limits().admission_count(), 1u);
  const v1::TableSettings& item = job->table_settings(1);
  EXPECT_EQ(item.dim(), 0u);
  EXPECT_EQ(item.optimizer().kind(), job->sparse_optimizer().kind());
  EXPECT_EQ(item.optimizer().learning_rate(), job->sparse_optimizer().learning_rate());
  EXPECT_EQ(item.limits().admission_count(), 3u);
}

TEST(FeaturesTest, TowersTakeThoseThatAreNoSequences) {
  const std::string pooled = Replaced(kJob, "pooling: none", "pooling: sum");
  const auto job = Parsed(Replaced(pooled, "{user: deepfm.py,", "{preset: wide_deep,"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->data().features_size(), 4);
  EXPECT_EQ(job->table_settings(0).dim(), 32u);
}

TEST(FeaturesTest, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(RefusalWith("column: user_id, kind: id", "kind: id"),
              HasSubstr("job.yaml:9: data.features.user.column: is missing"));
  EXPECT_THAT(RefusalWith("kind: id}", "kind: ids}"), HasSubstr("did you mean id?"));
  EXPECT_THAT(RefusalWith("separator: \";\"", "separator: \";;\""),
              HasSubstr("must be one character"));
  EXPECT_THAT(RefusalWith("{column: city,", "{column: city, most: 3,"),
              HasSubstr("data.features.city.most: is only for many: true"));
  EXPECT_THAT(RefusalWith("  item: {adm", "  items: {adm"),
              HasSubstr("tables.items: no feature of data.features has its rows in this table"));
  EXPECT_THAT(RefusalWith("    city:", "    the city:"), HasSubstr("\"the city\" is not a name"));
  EXPECT_THAT(RefusalWith("    city:", "    user:"),
              HasSubstr("data.features.user: is given twice"));
  EXPECT_THAT(RefusalWith("numeric: [price]", "numeric: [price], categorical: [city]"),
              HasSubstr("cannot stand beside data.features"));
  EXPECT_THAT(RefusalWith("{user: deepfm.py,", "{preset: deepfm,"),
              AllOf(HasSubstr("job.yaml:11: data.features.recent.pooling: none is a sequence"),
                    HasSubstr("expected sum or mean")));
  EXPECT_THAT(RefusalWith("format: csv\n  header: true", "format: libsvm"),
              HasSubstr("data.features: is only for format: csv, tsv and parquet"));
}

TEST(FeaturesTest, AreTheOnlyKeysSoThatNoNumberBecomesABucketBesideThem) {
  const std::string bucket =
      "numeric: [hour, {columns: price, transform: bucket, boundaries: [1]}]";
  const std::string refused =
      "job.yaml:7: data.schema.numeric[1].transform: bucket makes keys, and where there are "
      "data.features, they alone have keys; expected none, log or standard, or one of "
      "data.features that is made of the column";
  EXPECT_EQ(RefusalWith("numeric: [price]", bucket), refused) << "with a program";
  const std::string pooled = Replaced(kJob, "pooling: none", "pooling: sum");
  const std::string preset = Replaced(pooled, "{user: deepfm.py,", "{preset: wide_deep,");
  const auto of_towers = Parsed(Replaced(preset, "numeric: [price]", bucket));
  EXPECT_EQ(std::string(of_towers.status().message()), refused);
  EXPECT_EQ(RefusalWith("numeric: [price]", "numeric: [{columns: price, transform: log}]"), "")
      << "a program is given the numbers";
}

TEST(FeaturesTest, AVocabularyIsAFileBesideTheJobAndItsUnknownTexts) {
  const auto read = [](const std::string& more) {
    return Parsed(Replaced(kJob, "buckets: 1M", "kind: vocabulary" + more));
  };
  const auto job = read(", file: lists/cities.txt");
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::FeatureSpec& city = job->data().features(3);
  EXPECT_EQ(city.kind(), v1::KEY_KIND_VOCABULARY);
  EXPECT_EQ(city.vocabulary().file(), "/jobs/lists/cities.txt");
  EXPECT_EQ(city.vocabulary().unknown(), 1u);
  EXPECT_EQ(read(", file: s3://b/c.txt, unknown: 0")->data().features(3).vocabulary().file(),
            "s3://b/c.txt");
  const auto refusal = [&read](const std::string& more) {
    return std::string(read(more).status().message());
  };
  EXPECT_THAT(refusal(""), HasSubstr("data.features.city.file: is missing"));
  EXPECT_THAT(refusal(", file: c.txt, unknown: 2M"), HasSubstr("data.features.city.unknown: "));
  EXPECT_THAT(refusal(", file: c.txt, buckets: 7"),
              HasSubstr("data.features.city.buckets: is for kinds whose keys may be any numbers"));
  EXPECT_THAT(RefusalWith("buckets: 1M", "unknown: 2"),
              HasSubstr("data.features.city.unknown: is only for kind: vocabulary"));
}

TEST(FeaturesTest, TheValuesOfABagMayHaveWeightsInAnotherColumn) {
  const auto job = Parsed(Replaced(kJob, "most: 50,", "weights: times, most: 50,"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->data().features(1).weights().name(), "times");
  EXPECT_FALSE(job->data().features(2).has_weights());
  EXPECT_THAT(RefusalWith("buckets: 1M", "weights: times"),
              HasSubstr("data.features.city.weights: is only for many: true"));
  EXPECT_THAT(RefusalWith("most: 50,", "weights: [1, 2], most: 50,"),
              HasSubstr("data.features.history.weights: is one column"));
}

constexpr char kNegatives[] =
    "  negatives: {feature: city, file: lists/cities.txt, per_batch: 4k, distortion: 0.75}\n";

std::string RefusalOfNegatives(const std::string& what, const std::string& by) {
  const std::string job = Replaced(kJob, "tables:", std::string(kNegatives) + "tables:");
  return std::string(Parsed(Replaced(job, what, by)).status().message());
}

TEST(NegativesTest, AreReadWithTheirDefaults) {
  const auto job = Parsed(Replaced(kJob, "tables:", std::string(kNegatives) + "tables:"));
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::NegativeSpec& negatives = job->data().negatives();
  EXPECT_EQ(negatives.feature(), "city");
  EXPECT_EQ(negatives.file(), "/jobs/lists/cities.txt");
  EXPECT_EQ(negatives.per_batch(), 4000u);
  EXPECT_EQ(negatives.share(), v1::CANDIDATE_SHARE_WEIGHTS);
  EXPECT_EQ(negatives.distortion(), 0.75F);
  EXPECT_FALSE(Parsed(kJob)->data().has_negatives());
}

TEST(NegativesTest, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(RefusalOfNegatives("feature: city, ", ""),
              HasSubstr("job.yaml:13: data.negatives.feature: is missing; expected one of"));
  EXPECT_THAT(RefusalOfNegatives("feature: city", "feature: citi"),
              HasSubstr("\"citi\" is none of data.features; did you mean city?"));
  EXPECT_THAT(RefusalOfNegatives("file: lists/cities.txt, ", ""),
              HasSubstr("data.negatives.file: is missing; expected a file of candidates"));
  EXPECT_THAT(RefusalOfNegatives(", per_batch: 4k", ""),
              HasSubstr("data.negatives.per_batch: is missing"));
  EXPECT_THAT(RefusalOfNegatives("per_batch: 4k", "per_batch: 2M"),
              HasSubstr("data.negatives.per_batch: "));
  EXPECT_THAT(RefusalOfNegatives("distortion: 0.75", "distortion: 1.5"),
              HasSubstr("data.negatives.distortion: "));
  EXPECT_THAT(RefusalOfNegatives("distortion: 0.75", "from: log_unifrom"),
              HasSubstr("did you mean log_uniform?"));
  EXPECT_THAT(RefusalOfNegatives("format: csv\n  header: true", "format: libsvm"),
              HasSubstr("data.negatives: is only for format: csv, tsv and parquet"));
}

constexpr char kTowers[] = R"(
job: ads
data: {format: csv, train: a.csv, schema: {label: 0, numeric: "1-3"}}
model: {preset: mlp, activation: gelu, dropout: 0.25}
)";

TEST(HiddenLayersTest, HaveAnActivationADropoutAndABatchNorm) {
  const auto job = Parsed(kTowers);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->model().activation(), v1::ACTIVATION_GELU);
  EXPECT_EQ(job->model().dropout(), 0.25f);
  EXPECT_FALSE(job->model().batch_norm());
  EXPECT_TRUE(Parsed(Replaced(kTowers, "0.25", "0.25, batch_norm: true"))->model().batch_norm());
  const auto own =
      Parsed(Replaced(kTowers, "preset: mlp, activation: gelu, dropout: 0.25",
                      "towers: [{kind: mlp, hidden: [4], activation: elu, batch_norm: true}]"));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->model().towers(0).activation(), v1::ACTIVATION_ELU);
  EXPECT_EQ(own->model().activation(), v1::ACTIVATION_UNSPECIFIED);
  EXPECT_TRUE(own->model().towers(0).batch_norm());
  EXPECT_FALSE(own->model().batch_norm());
}

TEST(HiddenLayersTest, WhatCannotBeIsRefused) {
  const auto refusal = [](const std::string& what, const std::string& by) {
    return std::string(Parsed(Replaced(kTowers, what, by)).status().message());
  };
  EXPECT_THAT(refusal("gelu", "gleu"), HasSubstr("did you mean gelu?"));
  EXPECT_THAT(
      refusal("preset: mlp, activation: gelu, dropout: 0.25", "preset: fm, batch_norm: true"),
      HasSubstr("model.batch_norm: is for hidden layers, and this preset has none"));
  EXPECT_THAT(refusal("0.25", "1"), HasSubstr("model.dropout: \"1\" is not a number, at least 0"));
  EXPECT_THAT(refusal("preset: mlp", "preset: lr"),
              HasSubstr("model.activation: is for hidden layers, and this preset has none"));
}

}  // namespace
}  // namespace capstan
