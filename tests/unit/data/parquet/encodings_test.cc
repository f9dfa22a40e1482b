#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/parquet/cell_text.h"
#include "capstan/data/parquet/delta_numbers.h"
#include "capstan/data/parquet/hybrid_decoder.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;

// The example of Parquet's own specification.
TEST(HybridDecoderTest, ReadsRunsAndPackedBits) {
  const std::string packed = {
      0x03, static_cast<char>(0x88), static_cast<char>(0xC6), static_cast<char>(0xFA), 0x0a, 0x05};
  HybridDecoder bits(packed, /*bit_width=*/3);
  std::vector<uint32_t> values(13);
  ASSERT_TRUE(bits.Read(values));
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5, 5));
  EXPECT_FALSE(bits.Read(std::span(values).first(1)));
}

TEST(HybridDecoderTest, RefusesAValueOfTooManyBits) {
  HybridDecoder bits("\x04\x02", /*bit_width=*/1);
  std::vector<uint32_t> values(2);
  EXPECT_FALSE(bits.Read(values));
}

// The examples of Parquet's own specification: 1, 2, 3, 4, 5 and 7, 5, 3, 1, 2, 3, 4, 5.
TEST(DeltaNumbersTest, ReadsDifferences) {
  const std::string data(
      "\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f\x00\x00\x00\x00\x00\x00"
      "behind",
      24);
  DeltaNumbers numbers(data);
  EXPECT_EQ(numbers.Behind(), "behind");
  std::vector<int64_t> values(8);
  for (int64_t& value : values) ASSERT_TRUE(numbers.Next(value));
  EXPECT_THAT(values, ElementsAre(7, 5, 3, 1, 2, 3, 4, 5));
  int64_t more = 0;
  EXPECT_FALSE(numbers.Next(more));
}

TEST(NearestFloatTest, IsWhatTheTextIs) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t bits = Draw(1, 2, i);
    // Half of them half-way between two floats, or next to it.
    const uint64_t near = i % 2 == 0 ? bits : (bits & ~uint64_t{0x1FFFFFFF}) + 0x0FFFFFFF + i % 3;
    const double number = std::bit_cast<double>(near);
    if (!std::isfinite(number)) continue;
    float of_text = 0;
    float of_number = 0;
    const bool is_text = ParseFloat(CellText(number).view(), of_text);
    ASSERT_EQ(NearestFloat(number, of_number), is_text) << number;
    if (is_text) {
      ASSERT_EQ(of_number, of_text) << CellText(number).view();
    }
  }
}

TEST(NearestFloatTest, IntegersAreRoundedAsTheirTexts) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const auto number = static_cast<int64_t>(Draw(3, 4, i)) >> (i % 60);
    float of_text = 0;
    float of_number = 0;
    ASSERT_TRUE(ParseFloat(CellText(number).view(), of_text));
    ASSERT_TRUE(NearestFloat(number, of_number));
    ASSERT_EQ(of_number, of_text) << number;
  }
}

}  // namespace
}  // namespace capstan::parquet
