#include "capstan/image/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n";

// The memory that libpng may use for texts and profiles in addition to the image, and how many of
// them there may be.
constexpr png_alloc_size_t kMostChunkBytes = png_alloc_size_t{8} << 20;
constexpr png_uint_32 kMostChunks = 1000;
constexpr png_uint_32 kMostSide = 1'000'000;

// libpng leaves by longjmp if it fails. So all code between setjmp and the calls of libpng is in
// functions without objects that have destructors; their callers own the memory that they fill.
struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const char* next = nullptr;
  size_t left = 0;
  std::jmp_buf failed;
  char message[200] = {};
};

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  PngDecoder& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder.message, sizeof(decoder.message), "%s", message);
  std::longjmp(decoder.failed, 1);
}

void IgnoreWarning(png_structp, png_const_charp) {}

void Take(png_structp png, png_bytep bytes, size_t size) {
  PngDecoder& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (size > decoder.left) Fail(png, "it ends early");
  std::copy_n(decoder.next, size, reinterpret_cast<char*>(bytes));
  decoder.next += size;
  decoder.left -= size;
}

bool Open(PngDecoder& decoder) {
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, Fail, IgnoreWarning);
  if (decoder.png == nullptr) return false;
  if (setjmp(decoder.failed) != 0) return false;
  decoder.info = png_create_info_struct(decoder.png);
  png_set_read_fn(decoder.png, &decoder, Take);
  png_set_user_limits(decoder.png, kMostSide, kMostSide);
  png_set_chunk_malloc_max(decoder.png, kMostChunkBytes);
  png_set_chunk_cache_max(decoder.png, kMostChunks);
  png_read_info(decoder.png, decoder.info);
  return true;
}

bool Start(PngDecoder& decoder) {
  if (setjmp(decoder.failed) != 0) return false;
  png_set_expand(decoder.png);
  png_set_strip_16(decoder.png);
  png_set_strip_alpha(decoder.png);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  return true;
}

bool ReadRows(PngDecoder& decoder, uint8_t* rows, size_t row_bytes, uint32_t height) {
  if (setjmp(decoder.failed) != 0) return false;
  const int passes =
      png_get_interlace_type(decoder.png, decoder.info) == PNG_INTERLACE_NONE ? 1 : 7;
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t y = 0; y < height; ++y) {
      png_read_row(decoder.png, rows + y * row_bytes, nullptr);
    }
  }
  png_read_end(decoder.png, nullptr);
  return true;
}

absl::Status Damaged(const PngDecoder& decoder) {
  return absl::InvalidArgumentError(absl::StrCat("PNG: ", decoder.message));
}

absl::Status OpenChecked(PngDecoder& decoder, std::string_view encoded, ImageSize& size) {
  decoder.next = encoded.data();
  decoder.left = encoded.size();
  if (!Open(decoder)) return Damaged(decoder);
  size = {png_get_image_width(decoder.png, decoder.info),
          png_get_image_height(decoder.png, decoder.info)};
  if (uint64_t{size.width} * size.height <= kMostPixels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("PNG: an image of ", size.width, " x ",
                                                 size.height, " pixels; at most ", kMostPixels,
                                                 " are possible"));
}

// Converts one channel to three, or three to one, with the same weights of the colors as JPEG.
void Convert(const std::vector<uint8_t>& from, Pixels& pixels) {
  const size_t count = size_t{pixels.size.width} * pixels.size.height;
  uint8_t* const to = pixels.bytes.data();
  for (size_t i = 0; i < count; ++i) {
    if (pixels.channels == 3) {
      std::fill_n(to + 3 * i, 3, from[i]);
      continue;
    }
    const uint32_t light = 299u * from[3 * i] + 587u * from[3 * i + 1] + 114u * from[3 * i + 2];
    to[i] = static_cast<uint8_t>((light + 500) / 1000);
  }
}

absl::Status Decode(PngDecoder& decoder, std::string_view encoded, Pixels& pixels) {
  if (absl::Status opened = OpenChecked(decoder, encoded, pixels.size); !opened.ok()) return opened;
  if (!Start(decoder)) return Damaged(decoder);
  const uint32_t stored = png_get_channels(decoder.png, decoder.info);
  const size_t row_bytes = png_get_rowbytes(decoder.png, decoder.info);
  if ((stored != 1 && stored != 3) || row_bytes != size_t{stored} * pixels.size.width) {
    return absl::InvalidArgumentError("PNG: its colors cannot be read");
  }
  pixels.bytes.resize(pixels.row_bytes() * pixels.size.height);
  const bool as_stored = stored == pixels.channels;
  std::vector<uint8_t> rows(as_stored ? 0 : row_bytes * pixels.size.height);
  uint8_t* const to = as_stored ? pixels.bytes.data() : rows.data();
  if (!ReadRows(decoder, to, row_bytes, pixels.size.height)) return Damaged(decoder);
  if (!as_stored) Convert(rows, pixels);
  return absl::OkStatus();
}

}  // namespace

bool IsPng(std::string_view encoded) { return encoded.substr(0, kSignature.size()) == kSignature; }

absl::Status ReadPngSize(std::string_view encoded, ImageSize& size) {
  PngDecoder decoder;
  absl::Status status = OpenChecked(decoder, encoded, size);
  png_destroy_read_struct(&decoder.png, &decoder.info, nullptr);
  return status;
}

absl::Status DecodePng(std::string_view encoded, uint32_t channels, Pixels& pixels) {
  PngDecoder decoder;
  pixels.channels = channels;
  absl::Status status = Decode(decoder, encoded, pixels);
  png_destroy_read_struct(&decoder.png, &decoder.info, nullptr);
  return status;
}

}  // namespace capstan
