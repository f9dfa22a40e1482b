#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "capstan/data/parquet/value_decoder.h"
#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;

// The lengths 2, 0, 3 as differences -2 and 3, that is 0 and 5 above the least one.
std::string LengthsTwoNothingThree() {
  return BytesOf({8, 1, 3, /*first=*/4, /*least=*/3, /*width=*/3, 0x28, 0, 0});
}

TEST(DeltaLengthDecoderTest, TextsFollowAllOfTheirLengths) {
  const std::string bytes = LengthsTwoNothingThree() + "abxyz";
  const auto decoder = NewDeltaLengthDecoder(bytes);
  Values values;
  ASSERT_TRUE(decoder->Read(1, values));
  ASSERT_TRUE(decoder->Read(2, values));
  EXPECT_THAT(values.texts, ElementsAre("ab", "", "xyz"));
  EXPECT_FALSE(decoder->Read(1, values));
}

TEST(DeltaLengthDecoderTest, ALengthThatLiesIsMalformed) {
  const std::string cut = LengthsTwoNothingThree() + "abxy";
  Values values;
  EXPECT_FALSE(NewDeltaLengthDecoder(cut)->Read(3, values));
  const std::string negative = BytesOf({8, 1, 1, /*first=*/1}) + "abc";
  EXPECT_FALSE(NewDeltaLengthDecoder(negative)->Read(1, values));
  const std::string none;
  EXPECT_FALSE(NewDeltaLengthDecoder(none)->Read(1, values));
}

// The example of the format: common lengths 0, 2, 0, 3 and suffixes of 4, 2, 6 and 5 bytes.
std::string AxisAxleBabbleBabyhood() {
  return BytesOf({8, 1, 4, /*first=*/0, /*least=*/3, /*width=*/3, 0x44, 0x01, 0}) +
         BytesOf({8, 1, 4, /*first=*/8, /*least=*/3, /*width=*/3, 0x70, 0, 0}) +
         "axislebabbleyhood";
}

TEST(DeltaTextDecoderTest, ATextBeginsAsTheOneBeforeAlsoInTheNextCall) {
  const std::string bytes = AxisAxleBabbleBabyhood();
  const auto whole = NewDeltaTextDecoder(bytes);
  Values values;
  ASSERT_TRUE(whole->Read(4, values));
  EXPECT_THAT(values.texts, ElementsAre("axis", "axle", "babble", "babyhood"));
  EXPECT_FALSE(whole->Read(1, values));
  const auto one_by_one = NewDeltaTextDecoder(bytes);
  for (const char* expected : {"axis", "axle", "babble", "babyhood"}) {
    values.clear();
    ASSERT_TRUE(one_by_one->Read(1, values));
    EXPECT_THAT(values.texts, ElementsAre(expected));
  }
}

TEST(DeltaTextDecoderTest, ATextSharesNoMoreThanThereIsOfTheOneBefore) {
  const std::string suffix = BytesOf({8, 1, 1, /*first=*/2}) + "a";
  Values values;
  EXPECT_FALSE(NewDeltaTextDecoder(BytesOf({8, 1, 1, /*first=*/2}) + suffix)->Read(1, values));
  EXPECT_FALSE(NewDeltaTextDecoder(BytesOf({8, 1, 1, /*first=*/1}) + suffix)->Read(1, values));
  EXPECT_TRUE(NewDeltaTextDecoder(BytesOf({8, 1, 1, /*first=*/0}) + suffix)->Read(1, values));
}

TEST(DeltaTextDecoderTest, BytesThatEndEarlyAreMalformed) {
  const std::string bytes = AxisAxleBabbleBabyhood();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    Values values;
    EXPECT_FALSE(NewDeltaTextDecoder(cut)->Read(4, values)) << size;
  }
}

// 1000 texts share a million bytes each, which would be a gigabyte of few bytes.
TEST(DeltaTextDecoderTest, TextsThatRepeatEachOtherDoNotTakeAllMemory) {
  constexpr size_t kShared = size_t{1} << 20;
  // 1025 values: the first, and blocks of 8 values, each a difference. The first difference is
  // 2^20, all others are 0.
  const std::string block = BytesOf({/*least=*/0, /*width=*/0});
  std::string common = BytesOf({8, 1, 0x81, 0x08, /*first=*/0, /*least=*/0, /*width=*/32}) +
                       BytesOf({0, 0, 0x10, 0}) + std::string(28, '\0');
  for (int i = 1; i < 128; ++i) common += block;
  // The first suffix has 2^20 bytes, all others have none: a difference of -2^20, then of 0.
  const std::string first = BytesOf({0x80, 0x80, 0x80, 0x01});
  const std::string least = BytesOf({0xFF, 0xFF, 0x7F});
  std::string suffixes =
      BytesOf({8, 1, 0x81, 0x08}) + first + least + BytesOf({/*width=*/32}) + std::string(4, '\0');
  for (int i = 1; i < 8; ++i) suffixes += BytesOf({0, 0, 0x10, 0});
  for (int i = 1; i < 128; ++i) suffixes += block;
  const std::string bytes = common + suffixes + std::string(kShared, 'x');
  const auto few = NewDeltaTextDecoder(bytes);
  Values values;
  ASSERT_TRUE(few->Read(64, values));
  EXPECT_EQ(values.texts.back().size(), kShared);
  values.clear();
  EXPECT_FALSE(NewDeltaTextDecoder(bytes)->Read(65, values));
}

}  // namespace
}  // namespace capstan::parquet
