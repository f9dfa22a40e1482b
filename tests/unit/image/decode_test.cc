#include "capstan/image/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "capstan/image/jpeg.h"
#include "capstan/image/png.h"
#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

absl::Status Decode(std::string_view encoded, ImageShape shape, std::vector<uint8_t>& pixels,
                    const ImageView& view = {}) {
  pixels.assign(size_t{shape.size.width} * shape.size.height * shape.channels, 0);
  ImageDecoder decoder(shape);
  return decoder.Decode(encoded, view, pixels);
}

double MeanDifference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

TEST(ImageDecoderTest, APngOfTheSizeThatIsWantedComesOutAsItWas) {
  for (const uint32_t channels : {1u, 3u}) {
    const Pixels image = Smooth({31, 17}, channels);
    std::vector<uint8_t> pixels;
    ASSERT_EQ(Decode(EncodePng(image), {{31, 17}, channels}, pixels), absl::OkStatus());
    EXPECT_EQ(pixels, image.bytes);
  }
}

TEST(ImageDecoderTest, AJpegComesOutAboutAsItWas) {
  for (const bool progressive : {false, true}) {
    for (const uint32_t channels : {1u, 3u}) {
      const Pixels image = Smooth({48, 40}, channels, 2);
      std::vector<uint8_t> pixels;
      ASSERT_EQ(Decode(EncodeJpeg(image, progressive), {{48, 40}, channels}, pixels),
                absl::OkStatus());
      EXPECT_LE(MeanDifference(pixels, image.bytes), 8);
      EXPECT_NE(pixels, Plain(image.size, channels, 0).bytes);
    }
  }
}

TEST(ImageDecoderTest, GreyBecomesColoredAndColorsBecomeGrey) {
  std::vector<uint8_t> pixels;
  for (const bool jpeg : {false, true}) {
    const Pixels grey = Plain({8, 8}, 1, 90);
    ASSERT_EQ(Decode(jpeg ? EncodeJpeg(grey) : EncodePng(grey), {{8, 8}, 3}, pixels),
              absl::OkStatus());
    EXPECT_THAT(pixels, Each(90));
    Pixels red = Plain({8, 8}, 3, 0);
    for (size_t i = 0; i < red.bytes.size(); i += 3) red.bytes[i] = 200;
    ASSERT_EQ(Decode(jpeg ? EncodeJpeg(red) : EncodePng(red), {{8, 8}, 1}, pixels),
              absl::OkStatus());
    EXPECT_NEAR(pixels[9], 60, 2);  // .299 of it.
  }
}

TEST(ImageDecoderTest, InksBecomeColors) {
  // Cyan in full, as Adobe stores it: 0 is all of an ink.
  Pixels cyan = Plain({16, 16}, 4, 255);
  for (size_t i = 0; i < cyan.bytes.size(); i += 4) cyan.bytes[i] = 0;
  std::vector<uint8_t> pixels;
  ASSERT_EQ(Decode(EncodeJpeg(cyan), {{16, 16}, 3}, pixels), absl::OkStatus());
  EXPECT_NEAR(pixels[0], 0, 4);
  EXPECT_NEAR(pixels[1], 255, 4);
  EXPECT_NEAR(pixels[2], 255, 4);
}

TEST(ImageDecoderTest, ALargeImageIsScaledToAboutWhatItShows) {
  const Pixels half = [] {  // Dark on the left, bright on the right.
    Pixels pixels = Plain({640, 320}, 1, 20);
    for (size_t i = 0; i < pixels.bytes.size(); ++i) {
      if (i % 640 >= 320) pixels.bytes[i] = 220;
    }
    return pixels;
  }();
  for (const std::string& encoded : {EncodePng(half), EncodeJpeg(half)}) {
    std::vector<uint8_t> pixels, mirrored;
    ASSERT_EQ(Decode(encoded, {{16, 8}, 1}, pixels), absl::OkStatus());
    for (size_t i = 0; i < pixels.size(); ++i) {
      if (i % 16 == 7 || i % 16 == 8) continue;
      EXPECT_NEAR(pixels[i], i % 16 < 7 ? 20 : 220, 3) << i;
    }
    ASSERT_EQ(Decode(encoded, {{16, 8}, 1}, mirrored, {.mirrored = true}), absl::OkStatus());
    for (size_t i = 0; i < pixels.size(); ++i) {
      EXPECT_EQ(mirrored[i], pixels[i / 16 * 16 + 15 - i % 16]);
    }
  }
}

TEST(ImageDecoderTest, ADrawGivesTheSamePieceToWhoeverDecodes) {
  const std::string encoded = EncodeJpeg(Smooth({200, 150}, 3));
  std::vector<uint8_t> once, again, another;
  ASSERT_EQ(Decode(encoded, {{32, 32}, 3}, once, {.crop = 5}), absl::OkStatus());
  ASSERT_EQ(Decode(encoded, {{32, 32}, 3}, again, {.crop = 5}), absl::OkStatus());
  ASSERT_EQ(Decode(encoded, {{32, 32}, 3}, another, {.crop = 6}), absl::OkStatus());
  EXPECT_EQ(once, again);
  EXPECT_NE(once, another);
}

TEST(ImageDecoderTest, AnImageThatEndsEarlyIsRefusedWhereverItEnds) {
  for (const std::string& encoded :
       {EncodePng(Smooth({20, 20}, 3)), EncodeJpeg(Smooth({20, 20}, 3)),
        EncodeJpeg(Smooth({20, 20}, 3), /*progressive=*/true)}) {
    for (size_t size = 0; size < encoded.size(); ++size) {
      const std::string_view front = std::string_view(encoded).substr(0, size);
      std::vector<uint8_t> pixels;
      ImageDecoder decoder({{20, 20}, 3});
      const absl::Status decoded = Decode(front, {{20, 20}, 3}, pixels);
      // The last two bytes of a JPEG say no more than that it ends.
      if (!IsJpeg(encoded) || size + 2 < encoded.size()) {
        EXPECT_EQ(decoded.code(), absl::StatusCode::kInvalidArgument) << size;
      }
      EXPECT_EQ(decoder.Check(front).ok(), decoded.ok()) << size;
    }
  }
}

TEST(ImageDecoderTest, DamageIsFoundOrDoesNoHarm) {
  for (const std::string& encoded :
       {EncodePng(Smooth({20, 20}, 1)), EncodeJpeg(Smooth({20, 20}, 3))}) {
    const size_t pixels_begin = encoded.find("IDAT");
    ImageDecoder decoder({{8, 8}, 3});
    std::vector<uint8_t> pixels(8 * 8 * 3);
    for (size_t i = 0; i < encoded.size(); ++i) {
      for (const char flipped : {'\x01', '\x80', '\xFF'}) {
        std::string damaged = encoded;
        damaged[i] = static_cast<char>(damaged[i] ^ flipped);
        const absl::Status status = decoder.Decode(damaged, {}, pixels);
        // The pixels of a PNG have a checksum.
        EXPECT_FALSE(IsPng(encoded) && i > pixels_begin && i + 12 < encoded.size() && status.ok())
            << i;
      }
    }
  }
}

TEST(ImageDecoderTest, AnImageOfBillionsOfPixelsIsRefusedByItsHeader) {
  std::string png = EncodePng(Plain({1, 1}, 1, 0));
  std::string jpeg = EncodeJpeg(Plain({8, 8}, 1, 0));
  // The sides of a JPEG stand behind the marker of its frame, FF C0, height first.
  const size_t frame = jpeg.find("\xFF\xC0");
  ASSERT_NE(frame, jpeg.npos);
  jpeg.replace(frame + 5, 4, "\xEA\x60\xEA\x60", 4);
  std::vector<uint8_t> pixels;
  EXPECT_THAT(std::string(Decode(jpeg, {{8, 8}, 1}, pixels).message()),
              HasSubstr("an image of 60000 x 60000 pixels"));
  // A PNG's front with its checksum.
  png.replace(16, 8, std::string("\0\0\xEA\x60\0\0\xEA\x60", 8));
  png.replace(29, 4, "\xA5\xB9\x2A\x9E", 4);
  EXPECT_THAT(std::string(Decode(png, {{8, 8}, 1}, pixels).message()),
              HasSubstr("an image of 60000 x 60000 pixels"));
}

TEST(ImageDecoderTest, SomethingElseIsNoImage) {
  std::vector<uint8_t> pixels;
  EXPECT_EQ(Decode("GIF89a", {{8, 8}, 1}, pixels),
            absl::InvalidArgumentError("the image is neither a JPEG nor a PNG"));
  EXPECT_EQ(ImageDecoder({{8, 8}, 1}).Check(""),
            absl::InvalidArgumentError("the image is neither a JPEG nor a PNG"));
}

}  // namespace
}  // namespace capstan
