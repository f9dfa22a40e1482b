// Lists that pyarrow has written are the bags that the csv of the same table has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

constexpr uint64_t kLongRow = 131;  // Its list has 400 values, some of them nulls.

v1::FeatureSpec& Add(v1::DataSpec& data, const char* column, v1::KeyKind kind, bool many) {
  v1::FeatureSpec& feature = *data.add_features();
  feature.set_name(column);
  feature.set_column_name(column);
  feature.set_table(column);
  feature.set_kind(kind);
  feature.set_many(many);
  feature.set_separator("|");
  feature.set_most(1000);
  return feature;
}

v1::DataSpec Lists(const std::string& file) {
  v1::DataSpec data;
  const bool csv = file.ends_with(".csv");
  data.set_format(csv ? v1::DATA_FORMAT_CSV : v1::DATA_FORMAT_PARQUET);
  data.set_header(csv);
  data.add_train(GoldenPath(file));
  data.set_label_name("label");
  data.set_shuffle(false);
  Add(data, "user", v1::KEY_KIND_ID, false);
  Add(data, "clicked", v1::KEY_KIND_ID, true);
  Add(data, "words", v1::KEY_KIND_HASH, true);
  Add(data, "always", v1::KEY_KIND_ID, true);
  return data;
}

absl::StatusOr<Batch> ReadLists(v1::DataSpec data) {
  absl::StatusOr<ReaderOptions> options = Derived(std::move(data));
  if (!options.ok()) return options.status();
  return ReadEverything(*options);
}

class ListsTest : public testing::TestWithParam<const char*> {};

TEST_P(ListsTest, HoldWhatTheCsvHolds) {
  const auto csv = ReadLists(Lists("lists.csv"));
  const auto parquet = ReadLists(Lists(GetParam()));
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_TRUE(parquet.ok()) << parquet.status();
  ASSERT_EQ(csv->examples(), kTableRows);
  ASSERT_EQ(csv->features.size(), 4u);
  EXPECT_GT(csv->features[1].KeysOf(kLongRow).size(), 300u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(parquet->features[i], csv->features[i]) << i;
  EXPECT_TRUE(*parquet == *csv);
}

TEST_P(ListsTest, HoldTheSameHoweverTheyAreCut) {
  v1::DataSpec data = Lists(GetParam());
  const auto whole = ReadLists(data);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const uint64_t records : {1, 7, 100, 131}) {
    data.set_task_records(records);
    const auto parts = ReadLists(data);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_TRUE(*parts == *whole) << records;
  }
}

TEST_P(ListsTest, OfALongOneTheFirstValuesCount) {
  v1::DataSpec data = Lists(GetParam());
  for (v1::FeatureSpec& feature : *data.mutable_features()) feature.set_most(2);
  const auto read = ReadLists(data);
  const auto whole = ReadLists(Lists(GetParam()));
  ASSERT_TRUE(read.ok() && whole.ok());
  for (uint64_t row = 0; row < kTableRows; ++row) {
    const auto all = whole->features[1].KeysOf(row);
    const auto first = read->features[1].KeysOf(row);
    ASSERT_EQ(first.size(), std::min<size_t>(2, all.size())) << row;
    EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin())) << row;
  }
}

TEST_P(ListsTest, TextsOfAVocabularyAreThoseOfTheCsv) {
  const TestFolder folder;
  const auto with_vocabulary = [&folder](v1::DataSpec data, uint32_t unknown) {
    v1::FeatureSpec& words = *data.mutable_features(2);
    words.set_kind(v1::KEY_KIND_VOCABULARY);
    words.mutable_vocabulary()->set_file(folder.Write("words.txt",
                                                      "a\nstra\xC3\x9F"
                                                      "e\nab\n"));
    words.mutable_vocabulary()->set_unknown(unknown);
    data.set_max_bad_records(kTableRows);
    return data;
  };
  for (const uint32_t unknown : {0, 2}) {
    const auto csv = ReadLists(with_vocabulary(Lists("lists.csv"), unknown));
    const auto parquet = ReadLists(with_vocabulary(Lists(GetParam()), unknown));
    ASSERT_TRUE(csv.ok() && parquet.ok()) << csv.status() << parquet.status();
    EXPECT_GT(csv->examples(), 10u);
    EXPECT_EQ(csv->examples() == kTableRows, unknown > 0);
    EXPECT_TRUE(*parquet == *csv) << unknown;
  }
}

// What was clicked weighs the words of the rows that have as many of both.
v1::DataSpec Weighted(v1::DataSpec data, uint32_t most) {
  v1::FeatureSpec words = data.features(2);
  data.clear_features();
  *data.add_features() = std::move(words);
  data.mutable_features(0)->mutable_weights()->set_name("clicked");
  data.mutable_features(0)->set_most(most);
  data.set_max_bad_records(kTableRows);
  return data;
}

TEST_P(ListsTest, WeightsOfValuesAreThoseOfTheCsv) {
  for (const uint32_t most : {1000, 1}) {
    const auto csv = ReadLists(Weighted(Lists("lists.csv"), most));
    const auto parquet = ReadLists(Weighted(Lists(GetParam()), most));
    ASSERT_TRUE(csv.ok() && parquet.ok()) << csv.status() << parquet.status();
    EXPECT_GT(csv->features[0].weights.size(), 10u);
    EXPECT_EQ(csv->features[0].weights.size(), csv->features[0].keys.size());
    EXPECT_LT(csv->examples(), kTableRows);
    EXPECT_TRUE(*parquet == *csv) << most;
  }
}

TEST_P(ListsTest, RowsWithABadValueAreLeftOutOfEveryBag) {
  v1::DataSpec data = Lists(GetParam());
  data.mutable_features(2)->set_kind(v1::KEY_KIND_ID);  // Words are no ids.
  data.set_max_bad_records(kTableRows);
  const auto read = ReadLists(data);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto whole = ReadLists(Lists(GetParam()));
  size_t kept = 0;
  for (uint64_t row = 0; row < kTableRows; ++row) {
    if (!whole->features[2].KeysOf(row).empty()) continue;
    ASSERT_LT(kept, read->examples());
    const auto expected = whole->features[1].KeysOf(row);
    const auto found = read->features[1].KeysOf(kept);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << row;
    EXPECT_EQ(read->features[3].KeysOf(kept)[0], row);
    ++kept;
  }
  EXPECT_EQ(kept, read->examples());
  EXPECT_GT(kept, 10u);
}

INSTANTIATE_TEST_SUITE_P(Files, ListsTest,
                         testing::Values("lists-plain-v1.parquet", "lists-dictionary-v2.parquet",
                                         "lists-delta-v2.parquet"));

TEST(ListRefusalTest, AListIsForAFeatureOfMany) {
  v1::DataSpec data = Lists("lists-plain-v1.parquet");
  data.mutable_features(1)->set_many(false);
  EXPECT_THAT(std::string(ReadLists(data).status().message()),
              HasSubstr("column \"clicked\" is a list, and data.features.clicked says one value"));
  data.clear_features();
  data.add_categorical()->set_name("clicked");
  EXPECT_THAT(std::string(ReadLists(data).status().message()),
              HasSubstr("column \"clicked\" is a list; supported are plain columns here"));
}

}  // namespace
}  // namespace capstan::parquet
