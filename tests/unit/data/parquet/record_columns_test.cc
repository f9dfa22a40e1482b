#include "capstan/data/parquet/record_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ParquetFile FileWith(const std::vector<std::string>& names) {
  ParquetFile file;
  file.info.path = "p.parquet";
  for (const std::string& name : names) {
    file.metadata.columns.push_back({.name = name, .physical = Physical::kInt64});
  }
  return file;
}

// Columns by number: label 1, weight 4, numbers 5 and 0, categories 3 and 2.
v1::DataSpec Numbered() {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.set_columns(6);
  data.set_label_column(1);
  data.mutable_weight()->set_column(4);
  for (const uint32_t column : {5, 0}) data.add_numeric()->set_column(column);
  for (const uint32_t column : {3, 2}) data.add_categorical()->set_column(column);
  return data;
}

std::vector<WantedColumn> WantedOf(const v1::DataSpec& data, Labels labels = Labels::kRequired) {
  return WantedColumns(data, LabelRule(data, v1::LOSS_LOGISTIC, /*classes=*/0, labels));
}

TEST(WantedColumnsTest, AreInTheOrderOfTheFileWithPlacesAmongTheirOwnKind) {
  std::vector<uint32_t> columns;
  std::vector<size_t> keys;
  std::vector<size_t> numbers;
  for (const WantedColumn& wanted : WantedOf(Numbered())) {
    columns.push_back(wanted.column);
    if (wanted.rule.is_label() || wanted.rule.is_weight()) continue;
    (wanted.rule.gives_key() ? keys : numbers).push_back(wanted.column * 10 + wanted.place);
  }
  EXPECT_THAT(columns, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(keys, ElementsAre(20, 31));
  EXPECT_THAT(numbers, ElementsAre(0, 51));
}

TEST(WantedColumnsTest, WhatIsOnlyForLearningIsLeftOutWhereLabelsAreIgnored) {
  v1::DataSpec data = Numbered();
  data.mutable_group()->set_column(2);
  EXPECT_EQ(WantedOf(data).size(), 7u);
  for (const WantedColumn& wanted : WantedOf(data, Labels::kIgnored)) {
    EXPECT_FALSE(wanted.rule.is_label() || wanted.rule.is_weight() || wanted.rule.is_group());
  }
  EXPECT_EQ(WantedOf(data, Labels::kIgnored).size(), 4u);
}

TEST(FindColumnsTest, ANumberIsThePlaceUnlessTheFileLacksTheLabelBeforeIt) {
  const v1::DataSpec data = Numbered();
  const auto scored = WantedOf(data, Labels::kIgnored);
  const ParquetFile whole = FileWith({"a", "label", "c", "d", "weight", "f"});
  EXPECT_THAT(*FindColumns(scored, data, /*labels_ignored=*/true, whole), ElementsAre(0, 2, 3, 5));
  const ParquetFile without = FileWith({"a", "c", "d", "weight", "f"});
  EXPECT_THAT(*FindColumns(scored, data, /*labels_ignored=*/true, without),
              ElementsAre(0, 1, 2, 4));
  const absl::Status status =
      FindColumns(WantedOf(data), data, /*labels_ignored=*/false, without).status();
  EXPECT_EQ(status, absl::InvalidArgumentError(
                        "p.parquet: has 5 columns, and no column 5 (they are counted from 0)"));
}

TEST(FindColumnsTest, ANameIsFoundAnywhereButOnlyOnce) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.set_columns(2);
  data.set_label_name("label");
  v1::ColumnSpec& number = *data.add_numeric();
  number.set_column(1);
  number.set_name("x");
  const auto wanted = WantedOf(data);
  EXPECT_THAT(*FindColumns(wanted, data, false, FileWith({"y", "x", "z", "label"})),
              ElementsAre(3, 1));
  EXPECT_EQ(FindColumns(wanted, data, false, FileWith({"label", "X"})).status(),
            absl::InvalidArgumentError(
                "p.parquet: has no column \"x\", which the first training file has"));
  EXPECT_EQ(FindColumns(wanted, data, false, FileWith({"x", "label", "x"})).status(),
            absl::InvalidArgumentError("p.parquet: two columns are named \"x\""));
}

TEST(FindColumnsTest, AColumnThatCannotBeUsedAsWantedIsNamed) {
  const v1::DataSpec data = Numbered();
  ParquetFile file = FileWith({"a", "label", "c", "d", "weight", "f"});
  file.metadata.columns[2].physical = Physical::kFloat;
  const absl::Status status = FindColumns(WantedOf(data), data, false, file).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("p.parquet: column \"c\" is FLOAT"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("column \"d\"")));
}

}  // namespace
}  // namespace capstan::parquet
