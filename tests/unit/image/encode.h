// Images for tests, encoded by the libraries that others write them with.
#ifndef TESTS_UNIT_IMAGE_ENCODE_H_
#define TESTS_UNIT_IMAGE_ENCODE_H_

#include <cstdint>
#include <string>

#include "capstan/image/pixels.h"

namespace capstan {

// Every pixel differs from its neighbours a little; `seed` makes another image.
Pixels Smooth(ImageSize size, uint32_t channels, uint32_t seed = 0);
Pixels Plain(ImageSize size, uint32_t channels, uint8_t value);

std::string EncodePng(const Pixels& pixels);

// With 4 channels: inks, as programs of Adobe write them. `progressive`: in several scans.
// `quality`: as libjpeg counts it, 100 is the best.
std::string EncodeJpeg(const Pixels& pixels, bool progressive = false, int quality = 95);

}  // namespace capstan

#endif  // TESTS_UNIT_IMAGE_ENCODE_H_
