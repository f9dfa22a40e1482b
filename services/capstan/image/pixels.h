// An image in memory.
#ifndef CAPSTAN_IMAGE_PIXELS_H_
#define CAPSTAN_IMAGE_PIXELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace capstan {

struct ImageSize {
  uint32_t width = 0;
  uint32_t height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// The largest number of pixels of an image. A larger one is refused before it is decoded.
inline constexpr uint64_t kMostPixels = uint64_t{1} << 26;

// A value type. `bytes` has height x width x channels elements, row by row.
struct Pixels {
  ImageSize size;
  uint32_t channels = 0;
  std::vector<uint8_t> bytes;

  size_t row_bytes() const { return size_t{size.width} * channels; }
};

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_PIXELS_H_
