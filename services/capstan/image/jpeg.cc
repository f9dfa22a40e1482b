#include "capstan/image/jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

// After <cstdio>, as these headers use FILE.
#include <jerror.h>
#include <jpeglib.h>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// The most scans of a progressive image, as each scan goes through the whole image again.
constexpr int kMostScans = 100;
// The memory that libjpeg may use in addition to the pixels, for the coefficients of a progressive
// image.
constexpr long kMostMemory = 512L << 20;

// libjpeg leaves by longjmp if it fails. So all code between setjmp and the calls of libjpeg is in
// functions without objects that have destructors; their callers own the memory that they fill.
struct JpegDecoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
};

JpegDecoder& DecoderOf(j_common_ptr info) { return *static_cast<JpegDecoder*>(info->client_data); }

[[noreturn]] void Fail(j_common_ptr info) {
  JpegDecoder& decoder = DecoderOf(info);
  info->err->format_message(info, decoder.message);
  std::longjmp(decoder.failed, 1);
}

// Treats data that libjpeg would repair as damaged, but not data that are only unusual.
void OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  Fail(info);
}

void OnProgress(j_common_ptr info) {
  JpegDecoder& decoder = DecoderOf(info);
  if (decoder.info.input_scan_number <= kMostScans) return;
  std::snprintf(decoder.message, sizeof(decoder.message), "more than %d scans", kMostScans);
  std::longjmp(decoder.failed, 1);
}

void Silence(j_common_ptr) {}

// Must be called after setjmp.
void ReadHeader(JpegDecoder& decoder, const char* encoded, size_t size) {
  jpeg_create_decompress(&decoder.info);
  decoder.info.mem->max_memory_to_use = kMostMemory;
  decoder.progress.progress_monitor = OnProgress;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, reinterpret_cast<const unsigned char*>(encoded), size);
  jpeg_read_header(&decoder.info, TRUE);
}

void Prepare(JpegDecoder& decoder) {
  decoder = {};
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;
  decoder.errors.error_exit = Fail;
  decoder.errors.emit_message = OnMessage;
  decoder.errors.output_message = Silence;
}

bool Open(JpegDecoder& decoder, const char* encoded, size_t size) {
  if (setjmp(decoder.failed) != 0) return false;
  ReadHeader(decoder, encoded, size);
  return true;
}

// Chooses an output color space that libjpeg can derive from that of the image.
J_COLOR_SPACE ColorsFor(const jpeg_decompress_struct& info, uint32_t channels) {
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) return JCS_CMYK;
  return channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

bool Start(JpegDecoder& decoder, uint32_t channels, uint32_t divisor) {
  if (setjmp(decoder.failed) != 0) return false;
  decoder.info.out_color_space = ColorsFor(decoder.info, channels);
  decoder.info.scale_num = 1;
  decoder.info.scale_denom = divisor;
  jpeg_start_decompress(&decoder.info);
  return true;
}

// Decodes the rows one after the other into `rows`.
bool ReadRows(JpegDecoder& decoder, uint8_t* rows, size_t row_bytes) {
  if (setjmp(decoder.failed) != 0) return false;
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = rows + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

absl::Status Damaged(const JpegDecoder& decoder) {
  return absl::InvalidArgumentError(absl::StrCat("JPEG: ", decoder.message));
}

absl::Status CheckSize(const JpegDecoder& decoder) {
  const uint64_t width = decoder.info.image_width;
  const uint64_t height = decoder.info.image_height;
  if (width * height <= kMostPixels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("JPEG: an image of ", width, " x ", height,
                                                 " pixels; at most ", kMostPixels,
                                                 " are possible"));
}

// Converts four inks to three colors or one. Adobe's programs store the inks inverted.
void FromInks(bool inverted, const std::vector<uint8_t>& inks, Pixels& pixels) {
  const size_t count = size_t{pixels.size.width} * pixels.size.height;
  for (size_t i = 0; i < count; ++i) {
    uint32_t light[4];
    for (size_t ink = 0; ink < 4; ++ink) {
      light[ink] = inverted ? inks[4 * i + ink] : 255 - inks[4 * i + ink];
    }
    uint8_t* const to = pixels.bytes.data() + i * pixels.channels;
    for (size_t color = 0; color < 3; ++color) light[color] = (light[color] * light[3] + 127) / 255;
    if (pixels.channels == 1) {
      to[0] = static_cast<uint8_t>((299 * light[0] + 587 * light[1] + 114 * light[2] + 500) / 1000);
    } else {
      for (size_t color = 0; color < 3; ++color) to[color] = static_cast<uint8_t>(light[color]);
    }
  }
}

absl::Status Decode(JpegDecoder& decoder, std::string_view encoded, uint32_t channels,
                    uint32_t divisor, Pixels& pixels) {
  if (!Open(decoder, encoded.data(), encoded.size())) return Damaged(decoder);
  if (absl::Status size = CheckSize(decoder); !size.ok()) return size;
  if (!Start(decoder, channels, divisor)) return Damaged(decoder);
  pixels.size = {decoder.info.output_width, decoder.info.output_height};
  pixels.channels = channels;
  pixels.bytes.resize(pixels.row_bytes() * pixels.size.height);
  if (decoder.info.out_color_space != JCS_CMYK) {
    return ReadRows(decoder, pixels.bytes.data(), pixels.row_bytes()) ? absl::OkStatus()
                                                                      : Damaged(decoder);
  }
  const size_t row_bytes = size_t{4} * pixels.size.width;
  std::vector<uint8_t> inks(row_bytes * pixels.size.height);
  if (!ReadRows(decoder, inks.data(), row_bytes)) return Damaged(decoder);
  FromInks(decoder.info.saw_Adobe_marker != FALSE, inks, pixels);
  return absl::OkStatus();
}

}  // namespace

bool IsJpeg(std::string_view encoded) { return encoded.substr(0, 3) == "\xFF\xD8\xFF"; }

absl::Status ReadJpegSize(std::string_view encoded, ImageSize& size) {
  JpegDecoder decoder;
  Prepare(decoder);
  const bool opened = Open(decoder, encoded.data(), encoded.size());
  absl::Status status = opened ? CheckSize(decoder) : Damaged(decoder);
  size = {decoder.info.image_width, decoder.info.image_height};
  jpeg_destroy_decompress(&decoder.info);
  return status;
}

absl::Status DecodeJpeg(std::string_view encoded, uint32_t channels, uint32_t divisor,
                        Pixels& pixels) {
  JpegDecoder decoder;
  Prepare(decoder);
  absl::Status status = Decode(decoder, encoded, channels, divisor, pixels);
  jpeg_destroy_decompress(&decoder.info);
  return status;
}

}  // namespace capstan
