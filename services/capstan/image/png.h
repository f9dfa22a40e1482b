// Decodes PNG, with libpng.
#ifndef CAPSTAN_IMAGE_PNG_H_
#define CAPSTAN_IMAGE_PNG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/image/pixels.h"

namespace capstan {

bool IsPng(std::string_view encoded);

// Reads the size of a PNG, and nothing after it. INVALID_ARGUMENT: it is not a PNG; the message has
// the reason.
absl::Status ReadPngSize(std::string_view encoded, ImageSize& size);

// Replaces `pixels`, whose memory is reused, by the image in `channels` (1: grey, 3: red, green,
// blue) of 8 bits. Transparency and gamma are ignored. INVALID_ARGUMENT: the image is damaged,
// truncated, or larger than kMostPixels.
absl::Status DecodePng(std::string_view encoded, uint32_t channels, Pixels& pixels);

}  // namespace capstan

#endif  // CAPSTAN_IMAGE_PNG_H_
