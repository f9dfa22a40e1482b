// Decodes an image, JPEG or PNG, to pixels of the size that a model needs.
#ifndef CAPSTAN_IMAGE_DECODE_H_
#define CAPSTAN_IMAGE_DECODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/image/fit.h"
#include "capstan/image/pixels.h"

namespace capstan {

struct ImageShape {
  ImageSize size;
  uint32_t channels = 3;  // 1 or 3.
};

struct ImageView {
  // The random number that chooses a crop; nullopt: the centre is used.
  std::optional<uint64_t> crop = std::nullopt;
  bool mirrored = false;
};

// Distinguishes JPEG and PNG by their first bytes. Keeps memory between calls, as much as the
// largest image so far has needed. Thread-compatible.
class ImageDecoder {
 public:
  explicit ImageDecoder(ImageShape shape) : shape_(shape) {}

  // Decodes an image into `to`, which holds height x width x channels. A pure function of the
  // arguments. INVALID_ARGUMENT: the image is damaged, larger than kMostPixels, or of another kind.
  absl::Status Decode(std::string_view encoded, const ImageView& view, std::span<uint8_t> to);

  // Returns the status that Decode would return, in less time.
  absl::Status Check(std::string_view encoded);

 private:
  const ImageShape shape_;
  Pixels pixels_;
  ImageScaler scaler_;
};

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_DECODE_H_
