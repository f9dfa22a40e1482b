// Cuts a piece out of an image and brings it to the size that a model wants. Whole numbers alone
// are computed with, so that the result is the same on every machine.
#ifndef CAPSTAN_IMAGE_FIT_H_
#define CAPSTAN_IMAGE_FIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "capstan/image/pixels.h"

namespace capstan {

struct ImageRect {
  uint32_t x = 0;
  uint32_t y = 0;
  ImageSize size;
  friend bool operator==(const ImageRect&, const ImageRect&) = default;
};

// The largest rectangle with the sides' ratio of `wanted` that an image of `size` has, at its
// centre; every side is at least 1. REQUIRES: no side is 0.
ImageRect CentreRect(ImageSize size, ImageSize wanted);

// A rectangle that holds 8 to 100 % of the image and whose sides' ratio is 3/4 to 4/3 of that of
// `wanted`, anywhere in the image; CentreRect, if ten of those that are drawn do not fit. A pure
// function of the sizes and `draw`.
ImageRect RandomRect(ImageSize size, ImageSize wanted, uint64_t draw);

// Scales images to one size, each pixel the mean of those that it covers, weighted by a triangle
// where it covers few. A piece that has the size already is as it was. Keeps memory between calls.
// Thread-compatible.
class ImageScaler {
 public:
  // `to` holds wanted.height x wanted.width x pixels.channels. `mirrored`: left becomes right.
  // REQUIRES: `rect` lies in the image.
  void Scale(const Pixels& pixels, const ImageRect& rect, bool mirrored, ImageSize wanted,
             std::span<uint8_t> to);

 private:
  // What the pixels of one row or column are made of.
  struct Weights {
    std::vector<uint32_t> first;   // By pixel of the result: the first of those it is made of,
    std::vector<uint32_t> begin;   // and where its weights begin; one more than there are pixels.
    std::vector<uint32_t> shares;  // Those of a pixel are kWhole together.
  };
  static void Weigh(uint32_t from, uint32_t to, Weights& weights);

  Weights columns_;
  Weights rows_;
  std::vector<uint8_t> narrow_;  // rect.height x wanted.width x channels.
};

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_FIT_H_
