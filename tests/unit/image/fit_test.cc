#include "capstan/image/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(CentreRectTest, IsAsLargeAsTheRatioAllows) {
  EXPECT_EQ(CentreRect({500, 375}, {224, 224}), (ImageRect{62, 0, {375, 375}}));
  EXPECT_EQ(CentreRect({100, 400}, {50, 25}), (ImageRect{0, 175, {100, 50}}));
  EXPECT_EQ(CentreRect({28, 28}, {28, 28}), (ImageRect{0, 0, {28, 28}}));
  EXPECT_EQ(CentreRect({1, 1}, {4096, 1}), (ImageRect{0, 0, {1, 1}}));
  EXPECT_EQ(CentreRect({1000, 1}, {1, 4096}), (ImageRect{499, 0, {1, 1}}));
}

TEST(RandomRectTest, LiesInTheImageAndHoldsTheShareThatItMay) {
  std::set<uint32_t> widths;
  for (uint64_t draw = 0; draw < 2000; ++draw) {
    const ImageRect rect = RandomRect({300, 200}, {64, 64}, draw);
    EXPECT_LE(rect.x + rect.size.width, 300u);
    EXPECT_LE(rect.y + rect.size.height, 200u);
    EXPECT_GE(rect.size.width * rect.size.height, 300u * 200 * 7 / 100);
    const double ratio = static_cast<double>(rect.size.width) / rect.size.height;
    EXPECT_GE(ratio, 0.73);
    EXPECT_LE(ratio, 1.37);
    widths.insert(rect.size.width);
  }
  EXPECT_GT(widths.size(), 100u);
}

TEST(RandomRectTest, IsTheCentreWhereNoneFits) {
  EXPECT_EQ(RandomRect({1000, 1}, {1, 1}, 3), CentreRect({1000, 1}, {1, 1}));
}

std::vector<uint8_t> Scaled(const Pixels& pixels, ImageSize wanted) {
  std::vector<uint8_t> to(size_t{wanted.width} * wanted.height * pixels.channels);
  ImageScaler().Scale(pixels, {0, 0, pixels.size}, false, wanted, to);
  return to;
}

TEST(ImageScalerTest, WhatIsPlainStaysPlainAtEverySize) {
  for (const uint32_t from : {1u, 2u, 7u, 100u}) {
    for (const uint32_t to : {1u, 3u, 7u, 64u, 333u}) {
      EXPECT_THAT(Scaled(Plain({from, 9}, 3, 201), {to, 5}), Each(201)) << from << " " << to;
    }
  }
}

TEST(ImageScalerTest, ASmallerPixelIsTheMeanOfThoseItCovers) {
  const Pixels stripes{{8, 1}, 1, {0, 200, 0, 200, 0, 200, 0, 200}};
  const std::vector<uint8_t> half = Scaled(stripes, {4, 1});
  EXPECT_THAT(std::vector<uint8_t>(half.begin() + 1, half.begin() + 3), Each(100));
}

TEST(ImageScalerTest, ALargerImageHasValuesBetween) {
  EXPECT_THAT(Scaled({{2, 1}, 1, {0, 100}}, {4, 1}), ElementsAre(0, 25, 75, 100));
}

TEST(ImageScalerTest, APieceIsCutOut) {
  const Pixels image = Smooth({10, 10}, 3);
  std::vector<uint8_t> to(2 * 2 * 3);
  ImageScaler().Scale(image, {4, 5, {2, 2}}, false, {2, 2}, to);
  EXPECT_EQ(to[0], image.bytes[(5 * 10 + 4) * 3]);
  EXPECT_EQ(to[11], image.bytes[(6 * 10 + 5) * 3 + 2]);
}

}  // namespace
}  // namespace capstan
