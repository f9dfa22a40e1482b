// Records of Parquet that have several labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace capstan::parquet
