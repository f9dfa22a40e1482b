#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "capstan/data/parquet/value_decoder.h"
#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;

TEST(ByteStreamSplitTest, TheFirstBytesOfAllValuesStandBeforeTheSecondOnes) {
  const Column column = {.name = "x", .physical = Physical::kFloat};
  const std::string bytes = BytesOf({0, 0, 0, 0, 0, 0, 0x80, 0, 0xC0, 0x3F, 0x40, 0x3F});
  // 1 is 3F800000, 2 is 40000000, and 1.5 is 3FC00000.
  const auto decoder = NewByteStreamSplitDecoder(column, bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(1, values));
  ASSERT_TRUE(decoder->Read(2, values));
  EXPECT_THAT(values.floats, ElementsAre(1.0F, 2.0F, 1.5F));
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(ByteStreamSplitTest, IntegersHaveTheSignThatTheirTypeSays) {
  const std::string bytes = BytesOf({0xFE, 0xFF, 0xFF, 0xFF});
  for (const bool is_unsigned : {false, true}) {
    const Column column = {.name = "x", .physical = Physical::kInt32, .is_unsigned = is_unsigned};
    Values values;
    ASSERT_TRUE(NewByteStreamSplitDecoder(column, bytes)->Read(1, values));
    EXPECT_THAT(values.integers, ElementsAre(is_unsigned ? int64_t{4294967294} : int64_t{-2}));
  }
}

TEST(ByteStreamSplitTest, TextsOfOneLengthAreJoinedAgain) {
  const Column column = {.name = "x", .physical = Physical::kFixed, .fixed_bytes = 3};
  const std::string bytes = "axbycz";
  const auto decoder = NewByteStreamSplitDecoder(column, bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(2, values));
  EXPECT_THAT(values.texts, ElementsAre("abc", "xyz"));
}

// Where a page has lost bytes, nobody knows to which values those belong that are left.
TEST(ByteStreamSplitTest, BytesThatAreNoWholeValuesAreMalformed) {
  const Column column = {.name = "x", .physical = Physical::kDouble};
  for (const size_t size : {1, 7, 9, 15, 17}) {
    const std::string bytes(size, '\0');
    const auto decoder = NewByteStreamSplitDecoder(column, bytes);
    Values values;
    EXPECT_FALSE(decoder->Read(1, values)) << size;
    EXPECT_EQ(values.size(), 0u);
  }
}

TEST(ByteStreamSplitTest, APageWithoutValuesHasNoBytes) {
  const Column column = {.name = "x", .physical = Physical::kInt64};
  const auto decoder = NewByteStreamSplitDecoder(column, "");
  Values values;
  EXPECT_TRUE(decoder->Read(0, values));
  EXPECT_FALSE(decoder->Read(1, values));
}

}  // namespace
}  // namespace capstan::parquet
