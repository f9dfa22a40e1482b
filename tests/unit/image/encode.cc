#include "tests/unit/image/encode.h"

#include <png.h>

#include <cstdio>
#include <cstdlib>

// After <cstdio>, whose FILE it names.
#include <jpeglib.h>

#include "capstan/base/check.h"

namespace capstan {

Pixels Smooth(ImageSize size, uint32_t channels, uint32_t seed) {
  Pixels pixels{size, channels, {}};
  for (uint32_t y = 0; y < size.height; ++y) {
    for (uint32_t x = 0; x < size.width; ++x) {
      for (uint32_t c = 0; c < channels; ++c) {
        pixels.bytes.push_back(static_cast<uint8_t>((3 * x + 2 * y + 40 * c + 17 * seed) % 230));
      }
    }
  }
  return pixels;
}

Pixels Plain(ImageSize size, uint32_t channels, uint8_t value) {
  return {size, channels, std::vector<uint8_t>(size_t{size.width} * size.height * channels, value)};
}

std::string EncodePng(const Pixels& pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = pixels.size.width;
  image.height = pixels.size.height;
  image.format = pixels.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  CAPSTAN_CHECK(
      png_image_write_to_memory(&image, nullptr, &size, 0, pixels.bytes.data(), 0, nullptr));
  std::string encoded(size, '\0');
  CAPSTAN_CHECK(
      png_image_write_to_memory(&image, encoded.data(), &size, 0, pixels.bytes.data(), 0, nullptr));
  encoded.resize(size);
  return encoded;
}

std::string EncodeJpeg(const Pixels& pixels, bool progressive, int quality) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = pixels.size.width;
  info.image_height = pixels.size.height;
  info.input_components = static_cast<int>(pixels.channels);
  info.in_color_space = pixels.channels == 1   ? JCS_GRAYSCALE
                        : pixels.channels == 4 ? JCS_CMYK
                                               : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.write_Adobe_marker = pixels.channels == 4 ? TRUE : FALSE;
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.bytes.data() + info.next_scanline * pixels.row_bytes());
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string encoded(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return encoded;
}

}  // namespace capstan
