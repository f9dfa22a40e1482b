// What pyarrow has written is read as the csv of the same table is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/data/tasks/measure_data.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GoldenTest : public testing::TestWithParam<const char*> {};

absl::StatusOr<Batch> Read(v1::DataSpec data) {
  absl::StatusOr<ReaderOptions> options = Derived(std::move(data));
  if (!options.ok()) return options.status();
  if (absl::Status status = MeasureData(*NewLocalFiles(), options->data); !status.ok()) {
    return status;
  }
  return ReadEverything(*options);
}

TEST_P(GoldenTest, HoldsWhatTheCsvHoldsBitForBit) {
  const auto csv = Read(TableSpec("table.csv"));
  const auto parquet = Read(TableSpec(GetParam()));
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_TRUE(parquet.ok()) << parquet.status();
  ASSERT_EQ(csv->examples(), kTableRows);
  EXPECT_EQ(parquet->labels, csv->labels);
  EXPECT_EQ(parquet->keys, csv->keys);
  EXPECT_EQ(parquet->dense, csv->dense);
  EXPECT_TRUE(*parquet == *csv);
}

TEST_P(GoldenTest, HoldsTheSameHoweverItIsCut) {
  v1::DataSpec data = TableSpec(GetParam());
  const auto whole = Read(data);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const uint64_t records : {1, 7, 100, 131}) {
    data.set_task_records(records);
    const auto parts = Read(data);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_TRUE(*parts == *whole) << records;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest,
                         testing::Values("plain-none-v1.parquet", "plain-zstd-v2.parquet",
                                         "dictionary-snappy-v1.parquet",
                                         "dictionary-gzip-v2.parquet", "delta-lz4-v2.parquet",
                                         "lengths-snappy-v1.parquet"));

std::string Refusal(const std::string& file, const char* numeric, const char* categorical) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.add_train(GoldenPath(file));
  data.set_label_name("label");
  if (numeric != nullptr) data.add_numeric()->set_name(numeric);
  if (categorical != nullptr) data.add_categorical()->set_name(categorical);
  return std::string(Read(std::move(data)).status().message());
}

TEST(RefusalTest, NamesFileColumnAndWhatIsSupported) {
  EXPECT_THAT(Refusal("refused.parquet", "list", nullptr),
              AllOf(HasSubstr("refused.parquet: column \"list\" is a list"),
                    HasSubstr("supported are plain columns")));
  EXPECT_THAT(Refusal("refused.parquet", "struct", nullptr), HasSubstr("column \"struct\" is a"));
  EXPECT_THAT(Refusal("refused.parquet", "decimal", nullptr), HasSubstr("is a DECIMAL"));
  EXPECT_THAT(Refusal("refused.parquet", "half", nullptr), HasSubstr("is FLOAT16"));
  EXPECT_THAT(Refusal("refused.parquet", nullptr, "double"),
              HasSubstr("is DOUBLE, and a categorical value must be an integer"));
  EXPECT_THAT(Refusal("int96.parquet", "time", nullptr), HasSubstr("is INT96"));
  EXPECT_THAT(Refusal("brotli.parquet", "double", nullptr),
              AllOf(HasSubstr("compressed with BROTLI"), HasSubstr("supported are SNAPPY")));
  EXPECT_THAT(Refusal("encrypted.parquet", "double", nullptr), HasSubstr("is encrypted"));
  EXPECT_THAT(Refusal("refused.parquet", "duoble", nullptr), HasSubstr("did you mean double?"));
}

TEST(RefusalTest, ColumnsThatAreNotReadMayBeOfAnyType) {
  EXPECT_EQ(Refusal("refused.parquet", "double", nullptr), "");
}

}  // namespace
}  // namespace capstan::parquet
