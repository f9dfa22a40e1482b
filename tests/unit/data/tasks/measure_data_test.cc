#include "capstan/data/tasks/measure_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

// The label in column 0 and the number in column 1, both to be standardized.
v1::DataSpec Unmeasured(const std::string& path) {
  v1::DataSpec data = CsvSpec(path, {1}, {});
  data.set_standardize_label(true);
  data.mutable_numeric(0)->set_transform(v1::NUMERIC_TRANSFORM_STANDARD);
  EXPECT_EQ(DeriveDataSpec(*NewLocalFiles(), data), absl::OkStatus());
  return data;
}

// Labels 0, 1, ... and the numbers 10 higher.
std::string Rows(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) absl::StrAppend(&text, i, ",", i + 10, "\n");
  return text;
}

v1::DataSpec Measured(v1::DataSpec data, uint64_t measured_bytes = kMeasuredBytes) {
  EXPECT_EQ(MeasureData(*NewLocalFiles(), data, measured_bytes), absl::OkStatus());
  EXPECT_FALSE(LacksMeasures(data));
  return data;
}

TEST(MeasureDataTest, MeasuresLabelAndColumnsOverAllFilesPlainAndCompressed) {
  TestFolder folder;
  folder.Write("part-1.csv", "1,10\n3,\n");
  folder.Write("part-2.csv.gz", Gzip("5,20\nx,99\n7,99,9\n"));
  const v1::DataSpec data = Measured(Unmeasured(folder.Path("part-*")));
  EXPECT_DOUBLE_EQ(data.label_mean(), 3) << "of 1, 3 and 5: bad records do not count";
  EXPECT_DOUBLE_EQ(data.label_deviation(), std::sqrt(8.0 / 3));
  EXPECT_DOUBLE_EQ(data.numeric(0).mean(), 15) << "of 10 and 20: empty cells do not count";
  EXPECT_DOUBLE_EQ(data.numeric(0).deviation(), 5);
}

TEST(MeasureDataTest, GoesByTheLineOfNames) {
  TestFolder folder;
  v1::DataSpec data = Unmeasured(folder.Write("a.csv", "5,5\n1,1\n3,3\n"));
  data.set_header(true);
  EXPECT_DOUBLE_EQ(Measured(data).label_mean(), 2);
}

TEST(MeasureDataTest, WhatIsAlwaysTheSameHasADeviationOfOne) {
  TestFolder folder;
  const v1::DataSpec data = Measured(Unmeasured(folder.Write("a.csv", "7,\n7,\n")));
  EXPECT_EQ(data.label_mean(), 7);
  EXPECT_EQ(data.label_deviation(), 1);
  EXPECT_EQ(data.numeric(0).mean(), 0);
  EXPECT_EQ(data.numeric(0).deviation(), 1);
}

TEST(MeasureDataTest, WhatIsGivenStays) {
  TestFolder folder;
  v1::DataSpec data = Unmeasured(folder.Write("a.csv", Rows(0, 9)));
  data.set_label_mean(100);
  data.set_label_deviation(50);
  data = Measured(data);
  EXPECT_EQ(data.label_mean(), 100);
  EXPECT_EQ(data.label_deviation(), 50);
  EXPECT_EQ(data.numeric(0).mean(), 14);
}

TEST(MeasureDataTest, OfTooMuchDataRangesThatLieEvenlyAreMeasured) {
  TestFolder folder;
  for (int part = 0; part < 4; ++part) {
    folder.Write(absl::StrCat("part-", part, ".csv"),
                 Rows(100000 + part * 5000, 105000 + part * 5000));
  }
  const v1::DataSpec data = Measured(Unmeasured(folder.Path("part-*")), /*measured_bytes=*/60000);
  EXPECT_NEAR(data.label_mean(), 110000, 300) << "the first and the last bytes";
  const v1::DataSpec whole = Measured(Unmeasured(folder.Path("part-*")));
  EXPECT_DOUBLE_EQ(whole.label_mean(), 109999.5);
}

TEST(MeasureDataTest, TheLabelOfLibsvmIsWhatTheLineBeginsWith) {
  TestFolder folder;
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_LIBSVM);
  data.add_train(folder.Write("a.svm", "10 1:5\n30 7:1 9:2 # far\n"));
  data.set_standardize_label(true);
  data = Measured(data);
  EXPECT_EQ(data.label_mean(), 20);
  EXPECT_EQ(data.label_deviation(), 10);
}

TEST(AdoptMeasuresTest, TakesWhatIsNotKnownOfTheSameColumnsOnly) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows(0, 9));
  const v1::DataSpec known = Measured(Unmeasured(path));
  v1::DataSpec data = Unmeasured(path);
  AdoptMeasures(known, data);
  EXPECT_EQ(data.SerializeAsString(), known.SerializeAsString());
  v1::DataSpec other = Unmeasured(path);
  other.mutable_numeric(0)->set_column(5);
  AdoptMeasures(known, other);
  EXPECT_TRUE(LacksMeasures(other));
  v1::DataSpec given = Unmeasured(path);
  given.mutable_numeric(0)->set_deviation(3);
  AdoptMeasures(known, given);
  EXPECT_EQ(given.numeric(0).deviation(), 3);
}

}  // namespace
}  // namespace capstan
