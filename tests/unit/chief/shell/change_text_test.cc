#include "chief/shell/change_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/model/layout.h"

namespace capstan::chief {
namespace {

using ::testing::HasSubstr;

// A job of 13 numbers and 26 categories, with an mlp.
v1::JobSpec DeepJob() {
  v1::JobSpec job;
  job.set_job("ctr");
  job.set_seed(1);
  job.set_partition_count(8);
  job.mutable_data()->set_fields(26);
  job.mutable_data()->set_dense_width(13);
  job.mutable_model()->set_preset("deepfm");
  job.mutable_model()->set_embedding_dim(8);
  job.mutable_model()->add_hidden(64);
  job.mutable_model()->add_hidden(32);
  job.mutable_checkpoint()->set_every_seconds(60);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAM);
  job.mutable_sparse_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  EXPECT_TRUE(LayOutModel(job).ok());
  return job;
}

TEST(ChangeTextTest, OfTwoThatAreTheSameThereIsNone) {
  EXPECT_EQ(ChangeText(DeepJob(), DeepJob()), "");
}

TEST(ChangeTextTest, AnotherModelIsToldByItsKeysAlone) {
  v1::JobSpec now = DeepJob();
  now.mutable_model()->clear_hidden();
  now.mutable_model()->add_hidden(128);
  now.mutable_model()->clear_towers();
  ASSERT_TRUE(LayOutModel(now).ok());
  ASSERT_NE(now.tensors(0).SerializeAsString() + absl::StrCat(now.tensors_size()),
            DeepJob().tensors(0).SerializeAsString() + absl::StrCat(DeepJob().tensors_size()));
  EXPECT_EQ(ChangeText(DeepJob(), now), "model.hidden: [64, 32] -> [128]\n");
}

TEST(ChangeTextTest, OtherNegativesAreToldInTheWordsOfJobYaml) {
  v1::JobSpec before = DeepJob();
  v1::NegativeSpec& negatives = *before.mutable_data()->mutable_negatives();
  negatives.set_share(v1::CANDIDATE_SHARE_WEIGHTS);
  negatives.set_crc32c(7);
  v1::JobSpec now = before;
  now.mutable_data()->mutable_negatives()->set_share(v1::CANDIDATE_SHARE_LOG_UNIFORM);
  now.mutable_data()->mutable_negatives()->set_crc32c(8);
  EXPECT_EQ(ChangeText(before, now),
            "data.negatives.from: weights -> log_uniform\n"
            "data.negatives.file (its checksum): 7 -> 8\n");
}

TEST(ChangeTextTest, KeysAndValuesAreThoseOfJobYaml) {
  v1::JobSpec now = DeepJob();
  now.mutable_sparse_optimizer()->set_kind(v1::OPTIMIZER_KIND_FTRL);
  now.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  now.mutable_data()->set_label_name("clicked");
  now.mutable_checkpoint()->set_every_seconds(30);
  const std::string text = ChangeText(DeepJob(), now);
  EXPECT_THAT(text, HasSubstr("optimizer.sparse.kind: adagrad -> ftrl\n"));
  EXPECT_THAT(text, HasSubstr("update.dense.policy: async -> sync\n"));
  EXPECT_THAT(text, HasSubstr("data.schema.label: \"\" -> \"clicked\"\n"));
  EXPECT_THAT(text, HasSubstr("checkpoint.every: 1m -> 30s\n"));
}

TEST(ChangeTextTest, OfALongListOnlyTheFrontIsShown) {
  v1::JobSpec before, now;
  for (int i = 0; i < 100'000; ++i) now.mutable_data()->add_train("part");
  before.mutable_data()->add_train("part");
  const std::string text = ChangeText(before, now);
  EXPECT_THAT(text, HasSubstr("data.train: [\"part\"] -> [\"part\", "));
  EXPECT_THAT(text, HasSubstr("... 100000 in all]"));
  EXPECT_LT(text.size(), 200u);
}

TEST(ChangeTextTest, ColumnsThatComeAreCounted) {
  v1::JobSpec before, now;
  before.mutable_data()->add_numeric()->set_column(1);
  *now.mutable_data() = before.data();
  now.mutable_data()->add_numeric()->set_column(2);
  EXPECT_EQ(ChangeText(before, now), "data.schema.numeric: 1 entry -> 2 entries\n");
  now = before;
  now.mutable_data()->mutable_numeric(0)->set_transform(v1::NUMERIC_TRANSFORM_LOG);
  EXPECT_EQ(ChangeText(before, now), "data.schema.numeric[0].transform: none -> log\n");
}

TEST(ChangeTextTest, ValuesAreWrittenAsAJobWritesThem) {
  v1::JobSpec before = DeepJob();
  before.mutable_lease()->set_heartbeat_seconds(0.5);
  before.mutable_train()->set_sum_loss(false);
  before.mutable_table_limits()->set_admission_count(1);
  before.mutable_rebalance()->set_bytes_per_second(1);
  v1::JobSpec now = before;
  now.mutable_lease()->set_heartbeat_seconds(2);
  now.mutable_train()->set_sum_loss(true);
  now.mutable_rebalance()->set_automatic(true);
  now.mutable_table_limits()->set_byte_budget(uint64_t{64} << 20);
  now.mutable_data()->set_standardize_label(true);
  now.mutable_data()->set_shuffle(true);
  const std::string text = ChangeText(before, now);
  EXPECT_THAT(text, HasSubstr("heartbeat: 500ms -> 2s\n"));
  EXPECT_THAT(text, HasSubstr("train.gradient: mean -> sum\n"));
  EXPECT_THAT(text, HasSubstr("rebalance: manual -> auto\n"));
  EXPECT_THAT(text, HasSubstr("-> 64MiB\n"));
  EXPECT_THAT(text, HasSubstr("data.label_transform: none -> standard\n"));
  EXPECT_THAT(text, HasSubstr("data.shuffle: false -> true\n"));
}

TEST(ChangeTextTest, WhatUsersNameIsToldByItsName) {
  v1::JobSpec before = DeepJob();
  v1::FeatureSpec& feature = *before.mutable_data()->add_features();
  feature.set_name("genres");
  feature.set_most(5);
  before.add_table_settings()->set_name("film");
  before.mutable_data()->add_labels()->set_name("buy");
  before.mutable_data()->mutable_weight()->set_name("old");
  before.add_dense_groups()->add_match("*.bias");
  v1::JobSpec now = before;
  now.mutable_data()->mutable_features(0)->set_most(9);
  now.mutable_table_settings(0)->mutable_limits()->set_admission_count(3);
  now.mutable_data()->mutable_labels(0)->set_may_be_missing(true);
  now.mutable_data()->mutable_weight()->set_name("new");
  now.mutable_dense_groups(0)->set_match(0, "*.gain");
  const std::string text = ChangeText(before, now);
  EXPECT_THAT(text, HasSubstr("data.features.genres.most: 5 -> 9\n"));
  EXPECT_THAT(text, HasSubstr("tables.film"));
  EXPECT_THAT(text, HasSubstr("data.schema.labels.buy.optional: false -> true\n"));
  EXPECT_THAT(text, HasSubstr("data.schema.weight: \"old\" -> \"new\"\n"));
  EXPECT_THAT(text, HasSubstr("optimizer.dense.groups[0].match: [\"*.bias\"] -> [\"*.gain\"]\n"));
}

// Such as a table's seed in a job that an earlier version has begun.
TEST(ChangeTextTest, ParametersAreToldWhereNothingElseDiffers) {
  v1::JobSpec now = DeepJob();
  now.mutable_tables(0)->set_seed(7);
  EXPECT_THAT(ChangeText(DeepJob(), now), HasSubstr("tables[0].seed: "));
}

}  // namespace
}  // namespace capstan::chief
