#include "capstan/image/jpeg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::Each;
using testing::StartsWith;

TEST(JpegTest, ItsFirstBytesTellIt) {
  EXPECT_TRUE(IsJpeg("\xFF\xD8\xFF"));
  EXPECT_TRUE(IsJpeg(EncodeJpeg(Plain({8, 8}, 1, 0))));
  EXPECT_FALSE(IsJpeg("\xFF\xD8"));
  EXPECT_FALSE(IsJpeg(""));
  EXPECT_FALSE(IsJpeg(EncodePng(Plain({8, 8}, 1, 0))));
}

TEST(JpegTest, SidesAreDividedAndRoundedUp) {
  const std::string encoded = EncodeJpeg(Plain({17, 9}, 1, 90));
  ImageSize size;
  ASSERT_TRUE(ReadJpegSize(encoded, size).ok());
  EXPECT_EQ(size, (ImageSize{17, 9}));
  const ImageSize expected[] = {{17, 9}, {9, 5}, {5, 3}, {3, 2}};
  for (uint32_t i = 0; i < 4; ++i) {
    Pixels pixels = Plain({50, 50}, 3, 1);
    ASSERT_TRUE(DecodeJpeg(encoded, /*channels=*/1, /*divisor=*/1u << i, pixels).ok());
    EXPECT_EQ(pixels.size, expected[i]);
    EXPECT_EQ(pixels.bytes.size(), size_t{expected[i].width} * expected[i].height);
    EXPECT_THAT(pixels.bytes, Each(90));
  }
}

TEST(JpegTest, WhatIsNoJpegSaysSo) {
  ImageSize size;
  Pixels pixels;
  for (const std::string& encoded : {std::string(), std::string("\xFF\xD8\xFF"),
                                     std::string("some text"), std::string(1000, '\0')}) {
    const absl::Status read = ReadJpegSize(encoded, size);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.message()), StartsWith("JPEG: "));
    EXPECT_EQ(DecodeJpeg(encoded, 3, 1, pixels).code(), absl::StatusCode::kInvalidArgument);
  }
}

// libjpeg would fill the rest with grey.
TEST(JpegTest, AnImageWhoseDataEndEarlyIsRefusedThoughItsEndIsMarked) {
  const std::string encoded = EncodeJpeg(Smooth({64, 64}, 3));
  const std::string cut = encoded.substr(0, encoded.size() * 2 / 3) + "\xFF\xD9";
  ImageSize size;
  EXPECT_TRUE(ReadJpegSize(cut, size).ok());
  Pixels pixels;
  EXPECT_EQ(DecodeJpeg(cut, 3, 1, pixels).code(), absl::StatusCode::kInvalidArgument);
}

TEST(JpegTest, BytesBehindItsEndSayNothing) {
  const std::string encoded = EncodeJpeg(Plain({8, 8}, 1, 90));
  Pixels pixels;
  ASSERT_TRUE(DecodeJpeg(encoded + "more bytes", 1, 1, pixels).ok());
  EXPECT_THAT(pixels.bytes, Each(90));
}

}  // namespace
}  // namespace capstan
