#include "capstan/image/decode.h"

#include <algorithm>

#include "capstan/base/status.h"
#include "capstan/image/jpeg.h"
#include "capstan/image/png.h"

namespace capstan {
namespace {

constexpr uint32_t kMostDivisor = 8;

absl::Status UnknownKind() {
  return absl::InvalidArgumentError("the image is neither a JPEG nor a PNG");
}

absl::Status ReadSize(std::string_view encoded, ImageSize& size) {
  if (IsJpeg(encoded)) return ReadJpegSize(encoded, size);
  if (IsPng(encoded)) return ReadPngSize(encoded, size);
  return UnknownKind();
}

// Returns by how much the sides of a crop can be divided without getting smaller than wanted.
uint32_t DivisorFor(ImageSize piece, ImageSize wanted) {
  uint32_t divisor = 1;
  while (divisor < kMostDivisor && piece.width >= 2 * divisor * wanted.width &&
         piece.height >= 2 * divisor * wanted.height) {
    divisor *= 2;
  }
  return divisor;
}

// Returns the crop in an image whose sides are divided by `divisor`.
ImageRect Divided(const ImageRect& rect, uint32_t divisor, ImageSize image) {
  ImageRect divided;
  divided.x = std::min(rect.x / divisor, image.width - 1);
  divided.y = std::min(rect.y / divisor, image.height - 1);
  divided.size.width = std::clamp(rect.size.width / divisor, 1u, image.width - divided.x);
  divided.size.height = std::clamp(rect.size.height / divisor, 1u, image.height - divided.y);
  return divided;
}

}  // namespace

absl::Status ImageDecoder::Decode(std::string_view encoded, const ImageView& view,
                                  std::span<uint8_t> to) {
  ImageSize size;
  CAPSTAN_RETURN_IF_ERROR(ReadSize(encoded, size));
  const ImageRect rect =
      view.crop ? RandomRect(size, shape_.size, *view.crop) : CentreRect(size, shape_.size);
  if (IsPng(encoded)) {
    CAPSTAN_RETURN_IF_ERROR(DecodePng(encoded, shape_.channels, pixels_));
    scaler_.Scale(pixels_, rect, view.mirrored, shape_.size, to);
    return absl::OkStatus();
  }
  const uint32_t divisor = DivisorFor(rect.size, shape_.size);
  CAPSTAN_RETURN_IF_ERROR(DecodeJpeg(encoded, shape_.channels, divisor, pixels_));
  scaler_.Scale(pixels_, Divided(rect, divisor, pixels_.size), view.mirrored, shape_.size, to);
  return absl::OkStatus();
}

absl::Status ImageDecoder::Check(std::string_view encoded) {
  if (IsJpeg(encoded)) return DecodeJpeg(encoded, shape_.channels, kMostDivisor, pixels_);
  if (IsPng(encoded)) return DecodePng(encoded, shape_.channels, pixels_);
  return UnknownKind();
}

}  // namespace capstan
