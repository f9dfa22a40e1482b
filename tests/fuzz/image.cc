// A JPEG or a PNG, as a record of a data set holds it.
#include <vector>

#include "capstan/base/check.h"
#include "capstan/image/decode.h"
#include "tests/fuzz/fuzz.h"

void Fuzz(std::string_view input) {
  for (const uint32_t channels : {1u, 3u}) {
    capstan::ImageDecoder decoder({{9, 7}, channels});
    std::vector<uint8_t> pixels(size_t{9} * 7 * channels);
    const bool decoded = decoder.Decode(input, {}, pixels).ok();
    CAPSTAN_CHECK(decoder.Check(input).ok() == decoded);
    CAPSTAN_CHECK(decoder.Decode(input, {.crop = 1, .mirrored = true}, pixels).ok() == decoded);
  }
}
