// Crops an image and scales it to the size that a model needs. Uses only integer arithmetic, so
// that the result is the same on every machine.
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

// Returns the largest rectangle with the aspect ratio of `wanted` at the centre of an image of
// `size`. Its sides are at least 1. REQUIRES: no side is 0.
ImageRect CentreRect(ImageSize size, ImageSize wanted);

// Returns a random rectangle that covers 8 to 100 % of the image and whose aspect ratio is 3/4 to
// 4/3 times that of `wanted`; CentreRect if ten random rectangles do not fit. A pure function of
// the sizes and `draw`.
ImageRect RandomRect(ImageSize size, ImageSize wanted, uint64_t draw);

// Scales images. Each pixel of the result is a mean of the pixels around its position, with
// triangular weights. A crop that already has the wanted size is copied unchanged. Keeps memory
// between calls. Thread-compatible.
class ImageScaler {
 public:
  // `to` holds wanted.height x wanted.width x pixels.channels. `mirrored` swaps left and right.
  // REQUIRES: `rect` lies in the image.
  void Scale(const Pixels& pixels, const ImageRect& rect, bool mirrored, ImageSize wanted,
             std::span<uint8_t> to);

 private:
  // The source pixels, and their weights, of the pixels of one row or column of the result.
  struct Weights {
    // For each pixel of the result, its first source pixel.
    std::vector<uint32_t> first;
    // For each pixel of the result, where its weights begin in `shares`; with one more element at
    // the end.
    std::vector<uint32_t> begin;
    std::vector<uint32_t> shares;  // The weights of each pixel add up to kWhole.
  };
  static void Weigh(uint32_t from, uint32_t to, Weights& weights);

  Weights columns_;
  Weights rows_;
  std::vector<uint8_t> narrow_;  // rect.height x wanted.width x channels.
};

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_FIT_H_
