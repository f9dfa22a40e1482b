#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "capstan/data/parquet/value_decoder.h"
#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(PlainDecoderTest, IntegersHaveTheirLeastByteFirstAndTheSignOfTheirType) {
  const std::string bytes = BytesOf({0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x02, 0, 0});
  Column column = {.name = "x", .physical = Physical::kInt32};
  Values values;
  ASSERT_TRUE(NewPlainDecoder(column, bytes)->Read(2, values));
  EXPECT_THAT(values.integers, ElementsAre(-1, 513));
  column.is_unsigned = true;
  values.clear();
  ASSERT_TRUE(NewPlainDecoder(column, bytes)->Read(2, values));
  EXPECT_THAT(values.integers, ElementsAre(4294967295, 513));
  column.physical = Physical::kInt64;
  values.clear();
  ASSERT_TRUE(NewPlainDecoder(column, bytes)->Read(1, values));
  EXPECT_THAT(values.integers, ElementsAre(int64_t{0x0201'FFFF'FFFF}));
}

TEST(PlainDecoderTest, FractionsAreThoseOfTheirBits) {
  const Column floats = {.name = "x", .physical = Physical::kFloat};
  const Column doubles = {.name = "y", .physical = Physical::kDouble};
  Values values;
  ASSERT_TRUE(NewPlainDecoder(floats, BytesOf({0, 0, 0xC0, 0xBF}))->Read(1, values));
  EXPECT_THAT(values.floats, ElementsAre(-1.5F));
  ASSERT_TRUE(NewPlainDecoder(doubles, BytesOf({0, 0, 0, 0, 0, 0, 0xF8, 0x3F}))->Read(1, values));
  EXPECT_THAT(values.doubles, ElementsAre(1.5));
}

TEST(PlainDecoderTest, ANumberThatIsCutIsNotRead) {
  const Column column = {.name = "x", .physical = Physical::kInt64};
  const std::string bytes(15, '\1');
  const auto decoder = NewPlainDecoder(column, bytes);
  Values values;
  EXPECT_FALSE(decoder->Read(2, values));
  EXPECT_EQ(values.size(), 0u);
  EXPECT_FALSE(decoder->Read(SIZE_MAX, values));
  EXPECT_TRUE(decoder->Read(1, values));
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(PlainDecoderTest, ATextStandsBehindItsLength) {
  const Column column = {.name = "x", .physical = Physical::kByteArray};
  const std::string bytes = BytesOf({2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 'c'});
  const auto decoder = NewPlainDecoder(column, bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(3, values));
  EXPECT_THAT(values.texts, ElementsAre("ab", "", "c"));
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(PlainDecoderTest, ALengthThatLiesIsMalformed) {
  const Column column = {.name = "x", .physical = Physical::kByteArray};
  for (const std::string& bytes : {BytesOf({3, 0, 0, 0, 'a', 'b'}),
                                   BytesOf({0xFF, 0xFF, 0xFF, 0xFF, 'a'}), BytesOf({1, 0, 0})}) {
    Values values;
    EXPECT_FALSE(NewPlainDecoder(column, bytes)->Read(1, values)) << bytes.size();
  }
}

TEST(PlainDecoderTest, TextsOfOneLengthStandSideBySide) {
  const Column column = {.name = "x", .physical = Physical::kFixed, .fixed_bytes = 2};
  const std::string bytes = "abcde";
  const auto decoder = NewPlainDecoder(column, bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(2, values));
  EXPECT_THAT(values.texts, ElementsAre("ab", "cd"));
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(PlainDecoderTest, BooleansAreBitsTheLowOnesFirst) {
  const Column column = {.name = "x", .physical = Physical::kBoolean};
  const std::string bytes = BytesOf({0x05, 0x80});
  const auto decoder = NewPlainDecoder(column, bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(3, values));
  EXPECT_THAT(values.integers, ElementsAre(1, 0, 1));
  ASSERT_TRUE(decoder->Read(13, values));
  EXPECT_EQ(values.integers.back(), 1);
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(RleBooleansTest, TheRunsStandBehindTheirLengthAndReachAsFarAsItSays) {
  const std::string runs = BytesOf({0xD8, 0x04, 0x01});  // 300 times true.
  const std::string bytes = BytesOf({3, 0, 0, 0}) + runs;
  Values values;
  ASSERT_TRUE(NewRleBooleanDecoder(bytes)->Read(300, values));
  EXPECT_EQ(values.integers.size(), 300u);
  EXPECT_THAT(values.integers, Each(1));
  EXPECT_FALSE(NewRleBooleanDecoder(bytes)->Read(301, values));
  EXPECT_FALSE(NewRleBooleanDecoder(BytesOf({0, 0, 0, 0}) + runs)->Read(1, values));
  EXPECT_FALSE(NewRleBooleanDecoder(BytesOf({3, 0, 0}))->Read(1, values));
}

}  // namespace
}  // namespace capstan::parquet
