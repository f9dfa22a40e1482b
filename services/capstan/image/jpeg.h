// Decodes JPEG, with libjpeg.
#ifndef CAPSTAN_IMAGE_JPEG_H_
#define CAPSTAN_IMAGE_JPEG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/image/pixels.h"

namespace capstan {

bool IsJpeg(std::string_view encoded);

// Reads the size of a JPEG, and nothing after it. INVALID_ARGUMENT: it is not a JPEG; the message
// has the reason.
absl::Status ReadJpegSize(std::string_view encoded, ImageSize& size);

// Replaces `pixels`, whose memory is reused, by the image in `channels` (1: grey, 3: red, green,
// blue). Both sides are divided by `divisor` (1, 2, 4 or 8) and rounded up, which is faster than
// decoding the whole image. The result is the same on every machine. INVALID_ARGUMENT: the image is
// damaged, truncated, or larger than kMostPixels.
absl::Status DecodeJpeg(std::string_view encoded, uint32_t channels, uint32_t divisor,
                        Pixels& pixels);

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_JPEG_H_
