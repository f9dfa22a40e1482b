#include "capstan/image/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::StartsWith;

TEST(PngTest, ItsFirstBytesTellIt) {
  EXPECT_TRUE(IsPng("\x89PNG\r\n\x1A\n"));
  EXPECT_FALSE(IsPng("\x89PNG\n\x1A\n"));
  EXPECT_FALSE(IsPng("\x89PNG\r\n\x1A"));
  EXPECT_FALSE(IsPng(""));
}

TEST(PngTest, TheMemoryOfAnotherImageIsUsedAgain) {
  Pixels pixels = Plain({50, 50}, 3, 1);
  const Pixels small = Smooth({5, 3}, 1);
  ASSERT_TRUE(DecodePng(EncodePng(small), /*channels=*/1, pixels).ok());
  EXPECT_EQ(pixels.size, small.size);
  EXPECT_EQ(pixels.bytes, small.bytes);
  const Pixels large = Smooth({60, 70}, 3);
  ASSERT_TRUE(DecodePng(EncodePng(large), /*channels=*/3, pixels).ok());
  EXPECT_EQ(pixels.bytes, large.bytes);
}

TEST(PngTest, GreyIsTheLightOfTheColors) {
  Pixels colors = Plain({3, 1}, 3, 0);
  colors.bytes = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  Pixels grey;
  ASSERT_TRUE(DecodePng(EncodePng(colors), /*channels=*/1, grey).ok());
  // 255 times .299, .587 and .114.
  EXPECT_EQ(grey.bytes, (std::vector<uint8_t>{76, 150, 29}));
}

TEST(PngTest, WhatIsNoPngSaysSo) {
  for (const std::string& encoded : {std::string(), std::string("\x89PNG\r\n\x1A\n"),
                                     std::string("some text"), std::string(1000, '\0')}) {
    ImageSize size;
    const absl::Status read = ReadPngSize(encoded, size);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.message()), StartsWith("PNG: "));
    Pixels pixels;
    EXPECT_EQ(DecodePng(encoded, 3, pixels), read);
  }
}

TEST(PngTest, WhereverAnImageEndsEarlyItsErrorSaysSo) {
  const std::string encoded = EncodePng(Smooth({20, 20}, 3));
  Pixels pixels;
  for (size_t size = 8; size < encoded.size(); ++size) {
    EXPECT_EQ(DecodePng(encoded.substr(0, size), 3, pixels),
              absl::InvalidArgumentError("PNG: it ends early"))
        << size;
  }
  EXPECT_TRUE(DecodePng(encoded + "more bytes", 3, pixels).ok());
}

}  // namespace
}  // namespace capstan
