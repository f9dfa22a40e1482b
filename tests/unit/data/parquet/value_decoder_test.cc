#include "capstan/data/parquet/value_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;

bool CanHave(Physical type, Encoding encoding) {
  const Column column = {.name = "x", .physical = type, .fixed_bytes = 2};
  return NewValueDecoder(static_cast<int64_t>(encoding), column, "") != nullptr;
}

TEST(ValueDecoderTest, EachTypeHasTheEncodingsThatTheFormatDefinesForIt) {
  for (const Physical type :
       {Physical::kBoolean, Physical::kInt32, Physical::kInt64, Physical::kFloat, Physical::kDouble,
        Physical::kByteArray, Physical::kFixed}) {
    const bool integer = type == Physical::kInt32 || type == Physical::kInt64;
    const bool fraction = type == Physical::kFloat || type == Physical::kDouble;
    const bool text = type == Physical::kByteArray;
    const bool fixed = type == Physical::kFixed;
    EXPECT_TRUE(CanHave(type, Encoding::kPlain));
    EXPECT_EQ(CanHave(type, Encoding::kRle), type == Physical::kBoolean);
    EXPECT_EQ(CanHave(type, Encoding::kDeltaBinaryPacked), integer);
    EXPECT_EQ(CanHave(type, Encoding::kDeltaLengthByteArray), text);
    EXPECT_EQ(CanHave(type, Encoding::kDeltaByteArray), text || fixed);
    EXPECT_EQ(CanHave(type, Encoding::kByteStreamSplit), integer || fraction || fixed);
    EXPECT_FALSE(CanHave(type, Encoding::kRleDictionary)) << "places need a dictionary";
  }
  EXPECT_FALSE(CanHave(Physical::kInt96, Encoding::kPlain));
}

TEST(ValueDecoderTest, AnEncodingIsNamedAsTheFormatNamesIt) {
  EXPECT_EQ(EncodingName(0), "encoding PLAIN");
  EXPECT_EQ(EncodingName(4), "encoding BIT_PACKED");
  EXPECT_EQ(EncodingName(9), "encoding BYTE_STREAM_SPLIT");
  EXPECT_EQ(EncodingName(10), "encoding number 10");
  EXPECT_EQ(EncodingName(-1), "encoding number -1");
}

// Writers compute differences of 32 bits, which go round where they do not fit.
TEST(ValueDecoderTest, DifferencesOfThirtyTwoBitsGoRound) {
  // 2^31 - 1, and one more.
  const std::string bytes =
      BytesOf({8, 1, 2, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, /*least=*/2, /*width=*/0});
  const auto delta = static_cast<int64_t>(Encoding::kDeltaBinaryPacked);
  Column column = {.name = "x", .physical = Physical::kInt32};
  Values values;
  ASSERT_TRUE(NewValueDecoder(delta, column, bytes)->Read(2, values));
  EXPECT_THAT(values.integers, ElementsAre(2147483647, int64_t{-2147483648}));
  column.is_unsigned = true;
  values.clear();
  ASSERT_TRUE(NewValueDecoder(delta, column, bytes)->Read(2, values));
  EXPECT_THAT(values.integers, ElementsAre(2147483647, int64_t{2147483648}));
  column.physical = Physical::kInt64;
  values.clear();
  const auto decoder = NewValueDecoder(delta, column, bytes);
  ASSERT_TRUE(decoder->Read(2, values));
  EXPECT_THAT(values.integers, ElementsAre(2147483647, int64_t{2147483648}));
  EXPECT_FALSE(decoder->Read(1, values));
}

}  // namespace
}  // namespace capstan::parquet
