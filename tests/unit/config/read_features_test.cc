// data.features and the tables in which they have their rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"
#include "tests/unit/config/features_job.h"

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(FeaturesTest, AreReadInTheirOrderWithTheirDefaults) {
  const auto job = ParsedJob(kFeaturesJob);
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
  const auto job = ParsedJob(kFeaturesJob);
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
  const std::string pooled = Replaced(kFeaturesJob, "pooling: none", "pooling: sum");
  const auto job = ParsedJob(Replaced(pooled, "{user: deepfm.py,", "{preset: wide_deep,"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->data().features_size(), 4);
  EXPECT_EQ(job->table_settings(0).dim(), 32u);
}

TEST(FeaturesTest, MistakesAreToldWithTheirPlace) {
  EXPECT_THAT(RefusalWith("column: user_id, kind: id", "kind: id"),
              HasSubstr("job.yaml:9: data.features.user.column: is missing"));
  EXPECT_THAT(RefusalWith("kind: id}", "kind: ids}"), HasSubstr("did you mean id?"));
  EXPECT_THAT(RefusalWith("separator: \";\"", "separator: \";;\""),
              HasSubstr("must be one ASCII character"));
  EXPECT_THAT(RefusalWith("{column: city,", "{column: city, most: 3,"),
              HasSubstr("data.features.city.most: is only for many: true"));
  EXPECT_THAT(RefusalWith("  item: {adm", "  items: {adm"),
              HasSubstr("tables.items: no feature of data.features has its rows in this table"));
  EXPECT_THAT(RefusalWith("    city:", "    the city:"), HasSubstr("\"the city\" is not a name"));
  EXPECT_THAT(RefusalWith("    city:", "    user:"),
              HasSubstr("data.features.user: is given twice"));
  EXPECT_THAT(RefusalWith("numeric: [price]", "numeric: [price], categorical: [city]"),
              HasSubstr("cannot stand beside data.features"));
  EXPECT_THAT(
      RefusalWith("{user: deepfm.py,", "{preset: deepfm,"),
      testing::AllOf(HasSubstr("job.yaml:11: data.features.recent.pooling: none is a sequence"),
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
  const std::string pooled = Replaced(kFeaturesJob, "pooling: none", "pooling: sum");
  const std::string preset = Replaced(pooled, "{user: deepfm.py,", "{preset: wide_deep,");
  const auto of_towers = ParsedJob(Replaced(preset, "numeric: [price]", bucket));
  EXPECT_EQ(std::string(of_towers.status().message()), refused);
  EXPECT_EQ(RefusalWith("numeric: [price]", "numeric: [{columns: price, transform: log}]"), "")
      << "a program is given the numbers";
}

TEST(FeaturesTest, AVocabularyIsAFileBesideTheJobAndItsUnknownTexts) {
  const auto read = [](const std::string& more) {
    return ParsedJob(Replaced(kFeaturesJob, "buckets: 1M", "kind: vocabulary" + more));
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
  const auto job = ParsedJob(Replaced(kFeaturesJob, "most: 50,", "weights: times, most: 50,"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->data().features(1).weights().name(), "times");
  EXPECT_FALSE(job->data().features(2).has_weights());
  EXPECT_THAT(RefusalWith("buckets: 1M", "weights: times"),
              HasSubstr("data.features.city.weights: is only for many: true"));
  EXPECT_THAT(RefusalWith("most: 50,", "weights: [1, 2], most: 50,"),
              HasSubstr("data.features.history.weights: is one column"));
}

TEST(FeaturesTest, ASeparatorIsOneByteOfText) {
  for (const char* separator : {"\"\xC3\xBC\"", "\"\"", "\"||\""}) {
    EXPECT_THAT(RefusalWith("\";\"", separator),
                HasSubstr("data.features.history.separator: must be one ASCII character"))
        << separator;
  }
  EXPECT_EQ(ParsedJob(Replaced(kFeaturesJob, "\";\"", "\" \""))->data().features(1).separator(),
            " ");
}

TEST(FeaturesTest, ATableIsNamedAsAFeatureIs) {
  EXPECT_THAT(RefusalWith("table: item, many: true, separator",
                          "table: the item, many: true, "
                          "separator"),
              HasSubstr("data.features.history.table: \"the item\" is not a name"));
}

TEST(FeaturesTest, ATableWithAnOptimizerOfItsOwnHasOnlyTheKindOfTheOthers) {
  const std::string others = "optimizer: {sparse: {kind: adam, learning_rate: 0.25}}\nmodel: ";
  const std::string job = Replaced(kFeaturesJob, "model: ", others);
  const auto read =
      ParsedJob(Replaced(job, "item: {admission_count: 3}", "item: {optimizer: {epsilon: 0.5}}"));
  ASSERT_TRUE(read.ok()) << read.status();
  const v1::OptimizerSpec& item = read->table_settings(1).optimizer();
  EXPECT_EQ(item.kind(), v1::OPTIMIZER_KIND_ADAM);
  EXPECT_EQ(item.epsilon(), 0.5f);
  EXPECT_FLOAT_EQ(item.learning_rate(), 0.001f) << "the default of adam";
  const auto without = ParsedJob(job);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->table_settings(1).optimizer().learning_rate(), 0.25f);
}

}  // namespace
}  // namespace capstan
