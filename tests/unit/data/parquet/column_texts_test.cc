#include "capstan/data/parquet/column_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<std::vector<std::string>> TextsIn(const std::string& name, const std::string& column,
                                                 uint64_t rows, size_t most) {
  const std::unique_ptr<const Source> source = NewLocalFiles();
  const absl::StatusOr<ParquetFile> file = OpenParquetFile(*source, GoldenPath(name));
  if (!file.ok()) return file.status();
  const std::vector<Column>& columns = file->metadata.columns;
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&column](const Column& each) { return each.name == column; });
  return FirstTexts(*source, *file, static_cast<uint32_t>(found - columns.begin()), rows, most);
}

TEST(FirstTextsTest, AreTheDifferentOnesInTheOrderOfTheFile) {
  for (const char* name : {"plain-none-v1.parquet", "dictionary-snappy-v1.parquet",
                           "delta-lz4-v2.parquet", "plain-zstd-v2.parquet"}) {
    EXPECT_THAT(*TextsIn(name, "flag", kTableRows, 5), ElementsAre("true", "false")) << name;
    EXPECT_THAT(*TextsIn(name, "always", 3, 5), ElementsAre("0", "1", "2")) << name;
    EXPECT_THAT(*TextsIn(name, "code", 2, 5), ElementsAre("038")) << "once: " << name;
    EXPECT_THAT(*TextsIn(name, "ulong", 3, 5), ElementsAre("7", "18446744073709551615")) << name;
    EXPECT_THAT(*TextsIn(name, "long", 2, 5), ElementsAre("9223372036854775807", "-1")) << name;
  }
}

TEST(FirstTextsTest, NoMoreAreLookedForThanAreWanted) {
  EXPECT_THAT(*TextsIn("plain-none-v1.parquet", "always", kTableRows, 2), ElementsAre("0", "1"));
  EXPECT_THAT(*TextsIn("plain-none-v1.parquet", "always", kTableRows, 0), IsEmpty());
  EXPECT_THAT(*TextsIn("plain-none-v1.parquet", "always", 0, 5), IsEmpty());
  EXPECT_EQ(TextsIn("plain-none-v1.parquet", "always", UINT64_MAX, 1000)->size(), kTableRows);
}

TEST(FirstTextsTest, EmptyCellsAndEmptyTextsAreNone) {
  EXPECT_THAT(*TextsIn("plain-none-v1.parquet", "uint", 3, 5), ElementsAre("0"));
  EXPECT_THAT(*TextsIn("dictionary-gzip-v2.parquet", "uint", 3, 5), ElementsAre("0"));
}

TEST(FirstTextsTest, AColumnThatCannotBeReadIsRefusedAndNotCalledDamaged) {
  const absl::Status status = TextsIn("brotli.parquet", "label", 3, 5).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("brotli.parquet: column \"label\" is compressed with BROTLI"));
}

}  // namespace
}  // namespace capstan::parquet
