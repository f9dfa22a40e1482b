// An encoded image of any kind -> pixels of the size that a model wants.
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
  std::optional<uint64_t> crop = std::nullopt;  // Draws a piece; nullopt: the centre.
  bool mirrored = false;
};

// Which kind an image is says its first bytes: JPEG or PNG. Keeps memory between calls, as much as
// the largest image has taken so far. Thread-compatible.
class ImageDecoder {
 public:
  explicit ImageDecoder(ImageShape shape) : shape_(shape) {}

  // `to` holds height x width x channels. INVALID_ARGUMENT: it is damaged, larger than kMostPixels,
  // or of another kind. The result is a pure function of the arguments.
  absl::Status Decode(std::string_view encoded, const ImageView& view, std::span<uint8_t> to);

  // Returns what Decode would, in less time.
  absl::Status Check(std::string_view encoded);

 private:
  const ImageShape shape_;
  Pixels pixels_;
  ImageScaler scaler_;
};

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_DECODE_H_
