#include "capstan/data/tasks/measure_parquet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan {
namespace {

constexpr uint32_t kDoubleColumn = 8;  // Which some rows lack.

// The numbers of that column, as the csv of the same table has them.
std::vector<double> DoublesOfTheCsv() {
  std::istringstream lines(ReadFile(parquet::GoldenPath("table.csv")));
  std::vector<double> numbers;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    for (uint32_t i = 0; i <= kDoubleColumn; ++i) std::getline(cells, cell, ',');
    if (!cell.empty()) numbers.push_back(std::stod(cell));
  }
  return numbers;
}

class MeasureParquetTest : public testing::Test {
 protected:
  ColumnMoments Measured(const std::vector<std::string>& names, uint64_t measured_bytes) const {
    std::vector<FileInfo> infos;
    for (const std::string& name : names) {
      infos.push_back(*files_->Find(parquet::GoldenPath(name)));
    }
    const v1::DataSpec data = Derived(parquet::TableSpec(names.front()))->data;
    ColumnMoments moments = MomentsToMeasure(data);
    EXPECT_EQ(moments.size(), 1u) << "one column of the table is standardized";
    EXPECT_EQ(MeasureParquet(*files_, data, infos, measured_bytes, moments), absl::OkStatus());
    return moments;
  }

  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(MeasureParquetTest, AllRowsCountButThoseThatAreEmpty) {
  const std::vector<double> numbers = DoublesOfTheCsv();
  ASSERT_LT(numbers.size(), parquet::kTableRows);
  ASSERT_GT(numbers.size(), 50u);
  double mean = 0;
  for (const double number : numbers) mean += number / static_cast<double>(numbers.size());
  double variance = 0;
  for (const double number : numbers) {
    variance += (number - mean) * (number - mean) / static_cast<double>(numbers.size());
  }
  for (const char* name : {"plain-none-v1.parquet", "dictionary-snappy-v1.parquet"}) {
    const ColumnMoments moments = Measured({name}, UINT64_MAX);
    const Moments& of_double = moments.at(kDoubleColumn);
    EXPECT_NEAR(of_double.mean(), mean, 1e-5 * std::sqrt(variance)) << name;
    EXPECT_NEAR(of_double.deviation(), std::sqrt(variance), 1e-5 * std::sqrt(variance)) << name;
  }
}

TEST_F(MeasureParquetTest, TheSameFileTwiceHasTheSameMeasures) {
  const std::string name = "plain-none-v1.parquet";
  const Moments once = Measured({name}, UINT64_MAX).at(kDoubleColumn);
  const Moments twice = Measured({name, name}, UINT64_MAX).at(kDoubleColumn);
  EXPECT_NEAR(twice.mean(), once.mean(), 1e-6 * once.deviation());
  EXPECT_NEAR(twice.deviation(), once.deviation(), 1e-6 * once.deviation());
}

TEST_F(MeasureParquetTest, OfTooMuchDataAPartIsMeasured) {
  const std::string name = "plain-none-v1.parquet";
  const Moments whole = Measured({name}, UINT64_MAX).at(kDoubleColumn);
  const Moments part = Measured({name}, 2000).at(kDoubleColumn);
  EXPECT_NE(part.mean(), whole.mean());
  EXPECT_NEAR(part.mean(), whole.mean(), whole.deviation());
  const Moments nothing = Measured({name}, 0).at(kDoubleColumn);
  EXPECT_EQ(nothing.mean(), 0);
  EXPECT_EQ(nothing.deviation(), 1);
}

TEST_F(MeasureParquetTest, AFileThatIsGoneIsTold) {
  const v1::DataSpec data = Derived(parquet::TableSpec("plain-none-v1.parquet"))->data;
  ColumnMoments moments = MomentsToMeasure(data);
  const std::vector<FileInfo> gone = {{.path = "/no/such.parquet", .bytes = 10}};
  EXPECT_TRUE(absl::IsNotFound(MeasureParquet(*files_, data, gone, UINT64_MAX, moments)));
}

}  // namespace
}  // namespace capstan
