#include "capstan/data/tasks/other_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(CheckFirstLineTest, ALineOfSeveralCellsIsRightWhateverIsInThem) {
  EXPECT_TRUE(CheckFirstLine("a", "1,2", v1::DATA_FORMAT_CSV).ok());
  EXPECT_TRUE(CheckFirstLine("a", "1;2,3|4\t5", v1::DATA_FORMAT_CSV).ok());
  EXPECT_TRUE(CheckFirstLine("a", "\"x;y\",", v1::DATA_FORMAT_CSV).ok());
  EXPECT_TRUE(CheckFirstLine("a", "1\t2", v1::DATA_FORMAT_TSV).ok());
}

TEST(CheckFirstLineTest, Utf16IsToldWhateverItsCellsLookLike) {
  using std::string_view_literals::operator""sv;
  const absl::Status refused = absl::InvalidArgumentError(
      "a: is UTF-16; write it in UTF-8, such as by iconv --from utf-16 --to utf-8");
  EXPECT_EQ(CheckFirstLine("a", "\xFF\xFE\x31\0,\0\x32\0"sv, v1::DATA_FORMAT_CSV), refused);
  EXPECT_EQ(CheckFirstLine("a", "\xFE\xFF\0\x31\0,\0\x32"sv, v1::DATA_FORMAT_CSV), refused);
  EXPECT_TRUE(CheckFirstLine("a", "\xFF\xFE,1", v1::DATA_FORMAT_CSV).ok()) << "some other text";
}

TEST(CheckFirstLineTest, OneCellThatLooksLikeNothingElseMayBeAllThereIs) {
  EXPECT_TRUE(CheckFirstLine("a", "label", v1::DATA_FORMAT_CSV).ok());
  EXPECT_TRUE(CheckFirstLine("a", "", v1::DATA_FORMAT_TSV).ok());
  EXPECT_TRUE(CheckFirstLine("a", "\"not closed", v1::DATA_FORMAT_CSV).ok());
}

TEST(CheckFirstLineTest, OneCellThatLooksLikeAnotherFormatIsToldFromIt) {
  EXPECT_EQ(CheckFirstLine("a.csv", "1\t2", v1::DATA_FORMAT_CSV),
            absl::InvalidArgumentError("a.csv: has one column; it looks like cells with tabs "
                                       "between them: format: tsv reads them"));
  EXPECT_EQ(CheckFirstLine("a.tsv", "1,2", v1::DATA_FORMAT_TSV),
            absl::InvalidArgumentError("a.tsv: has one column; it looks like cells with commas "
                                       "between them: format: csv reads them"));
  EXPECT_THAT(std::string(CheckFirstLine("a", "1 3:1 7:0.5", v1::DATA_FORMAT_CSV).message()),
              HasSubstr("a: has one column; it looks like index:value pairs"));
}

TEST(WhyNotUnderstoodTest, OnlyTheFirstLineOfCellsIsLookedAt) {
  const absl::Status otherwise = absl::InvalidArgumentError("otherwise");
  const auto why = [&](std::string_view text, v1::DataFormat format) {
    return WhyNotUnderstood(*NewTextSource(text), "a", format, otherwise);
  };
  EXPECT_EQ(why("1,2\n3;4\n", v1::DATA_FORMAT_CSV), otherwise);
  EXPECT_EQ(why("", v1::DATA_FORMAT_CSV), otherwise);
  EXPECT_EQ(why("1,2\n", v1::DATA_FORMAT_LIBSVM), otherwise);
  EXPECT_THAT(std::string(why("1;2\n", v1::DATA_FORMAT_CSV).message()),
              HasSubstr("cells with ';' between them"));
  const std::string packed = Gzip("1;2\n");
  EXPECT_THAT(std::string(why(packed, v1::DATA_FORMAT_CSV).message()),
              HasSubstr("cells with ';' between them"));
}

}  // namespace
}  // namespace capstan
