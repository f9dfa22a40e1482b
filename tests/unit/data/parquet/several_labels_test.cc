// Records of Parquet that have several labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

v1::DataSpec TwoLabels(const std::string& file) {
  v1::DataSpec data = TableSpec(file);
  data.mutable_categorical()->DeleteSubrange(0, 1);  // flag.
  data.clear_label_name();
  for (const char* name : {"flag", "label"}) {
    v1::LabelSpec& label = *data.add_labels();
    label.set_name(name);
    label.set_column_name(name);
    label.set_weight(1);
  }
  data.add_positive_labels("true");
  data.add_positive_labels("1");
  data.set_max_bad_records(kTableRows);
  return data;
}

TEST(SeveralLabelsOfParquetTest, AreThoseOfTheSameCellsInACsv) {
  const auto parquet = Derived(TwoLabels("dictionary-snappy-v1.parquet"));
  const auto csv = Derived(TwoLabels("table.csv"));
  ASSERT_TRUE(parquet.ok() && csv.ok()) << parquet.status() << csv.status();
  const auto records = ReadEverything(*parquet);
  const auto same = ReadEverything(*csv);
  ASSERT_TRUE(records.ok() && same.ok()) << records.status() << same.status();
  EXPECT_EQ(records->label_count, 2u);
  EXPECT_EQ(records->examples(), 237u) << "flag is missing in the others";
  EXPECT_EQ(records->labels, same->labels);
  EXPECT_TRUE(*records == *same);
}

TEST(SeveralLabelsOfParquetTest, ThoseOfASquaredLossAreNumbersBesideTextsThatArePositive) {
  v1::DataSpec of_parquet = TwoLabels("dictionary-snappy-v1.parquet");
  of_parquet.clear_positive_labels();
  of_parquet.add_positive_labels("true");
  const auto texts = ReadEverything(*Derived(of_parquet));
  of_parquet.mutable_labels(1)->set_loss(v1::LOSS_SQUARED);
  const auto numbers = ReadEverything(*Derived(of_parquet));
  ASSERT_TRUE(texts.ok() && numbers.ok()) << texts.status() << numbers.status();
  ASSERT_EQ(texts->examples(), numbers->examples());
  const auto sum_of = [](const Batch& records, size_t label) {
    float sum = 0;
    for (size_t i = 0; i < records.examples(); ++i) sum += records.LabelsOf(i)[label];
    return sum;
  };
  EXPECT_EQ(sum_of(*texts, 0), sum_of(*numbers, 0)) << "the flag is logistic in both";
  EXPECT_EQ(sum_of(*texts, 1), 0) << "no label is the text \"true\"";
  EXPECT_GT(sum_of(*numbers, 1), 0);
}

// What is not a number is equal to nothing.
std::vector<float> WithMissingAs(float number, std::vector<float> labels) {
  for (float& label : labels) {
    if (std::isnan(label)) label = number;
  }
  return labels;
}

TEST(SeveralLabelsOfParquetTest, OneThatMayBeMissingIsSoWhereTheCellIsAndWithoutAnyTheRowIsBad) {
  v1::DataSpec of_parquet = TwoLabels("dictionary-snappy-v1.parquet");
  v1::DataSpec of_csv = TwoLabels("table.csv");
  of_parquet.mutable_labels(0)->set_may_be_missing(true);
  of_csv.mutable_labels(0)->set_may_be_missing(true);
  const auto records = ReadEverything(*Derived(of_parquet));
  const auto same = ReadEverything(*Derived(of_csv));
  ASSERT_TRUE(records.ok() && same.ok()) << records.status() << same.status();
  EXPECT_EQ(records->examples(), kTableRows) << "all have the label";
  EXPECT_EQ(std::count_if(records->labels.begin(), records->labels.end(),
                          [](float label) { return std::isnan(label); }),
            static_cast<ptrdiff_t>(kTableRows - 237));
  EXPECT_EQ(WithMissingAs(-1, records->labels), WithMissingAs(-1, same->labels));

  of_parquet.mutable_labels(1)->set_column_name("flag");
  of_parquet.mutable_labels(1)->set_may_be_missing(true);
  of_parquet.mutable_labels(0)->set_column_name("label");
  of_parquet.mutable_labels(0)->set_may_be_missing(false);
  EXPECT_EQ(ReadEverything(*Derived(of_parquet))->examples(), kTableRows);
}

}  // namespace
}  // namespace capstan::parquet
