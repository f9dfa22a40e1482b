#include "capstan/data/parquet/codecs.h"

#include <lz4.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/data/parquet/metadata.h"

namespace capstan::parquet {
namespace {

// The most bytes to which one compressed byte can be decompressed, by the formats' definitions.
constexpr uint64_t kSnappyRatio = 64;
constexpr uint64_t kLz4Ratio = 256;
constexpr uint64_t kGzipRatio = 1040;
constexpr uint64_t kRatioMargin = 1024;  // Additional bytes that are allowed.
constexpr size_t kZstdStep = size_t{1} << 20;
constexpr int kAnyWindow = 15 + 32;  // gzip's framing or zlib's.

absl::Status Malformed(std::string_view codec) {
  return absl::DataLossError(absl::StrCat("malformed ", std::string(codec),
                                          " data, or of another length than its header says"));
}

absl::Status Snappy(std::string_view in, std::vector<char>& bytes) {
  size_t length = 0;
  if (snappy::GetUncompressedLength(in.data(), in.size(), &length) && length == bytes.size() &&
      snappy::RawUncompress(in.data(), in.size(), bytes.data())) {
    return absl::OkStatus();
  }
  return Malformed("snappy");
}

absl::Status Lz4(std::string_view in, std::vector<char>& bytes) {
  constexpr size_t kMost = std::numeric_limits<int>::max();
  if (in.size() <= kMost && bytes.size() <= kMost &&
      ::LZ4_decompress_safe(in.data(), bytes.data(), static_cast<int>(in.size()),
                            static_cast<int>(bytes.size())) == static_cast<int>(bytes.size())) {
    return absl::OkStatus();
  }
  return Malformed("lz4");
}

absl::Status Gunzip(std::string_view in, std::vector<char>& bytes) {
  z_stream zlib = {};
  CAPSTAN_CHECK(::inflateInit2(&zlib, kAnyWindow) == Z_OK);
  absl::Cleanup end = [&zlib] { ::inflateEnd(&zlib); };
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  zlib.avail_in = static_cast<uInt>(in.size());
  zlib.next_out = reinterpret_cast<Bytef*>(bytes.data());
  zlib.avail_out = static_cast<uInt>(bytes.size());
  int result = Z_OK;
  while (true) {
    result = ::inflate(&zlib, Z_FINISH);
    if (result != Z_STREAM_END || zlib.avail_in == 0 || zlib.avail_out == 0) break;
    if (::inflateReset(&zlib) != Z_OK) break;  // Another member of gzip follows.
  }
  if (result == Z_STREAM_END && zlib.avail_out == 0) return absl::OkStatus();
  return Malformed("gzip");
}

// A few bytes may claim to decompress to very many, so memory grows with what was decompressed.
absl::Status Unzstd(std::string_view in, uint64_t size, std::vector<char>& bytes) {
  ZSTD_DCtx* const context = ::ZSTD_createDCtx();
  CAPSTAN_CHECK(context != nullptr);
  absl::Cleanup end = [context] { ::ZSTD_freeDCtx(context); };
  ZSTD_inBuffer input = {in.data(), in.size(), 0};
  ZSTD_outBuffer output = {nullptr, 0, 0};
  bytes.clear();
  while (true) {
    if (output.pos == bytes.size()) {
      bytes.resize(std::min<uint64_t>(size, bytes.size() + std::max(kZstdStep, bytes.size())));
    }
    output.dst = bytes.data();
    output.size = bytes.size();
    const size_t before = output.pos + input.pos;
    const size_t result = ::ZSTD_decompressStream(context, &output, &input);
    if (::ZSTD_isError(result)) return Malformed("zstd");
    const bool done = output.pos == size && input.pos == in.size();
    if (result == 0 && done) return absl::OkStatus();
    if (output.pos + input.pos == before) return Malformed("zstd");
  }
}

std::string NameOf(int64_t codec) {
  constexpr std::array<const char*, 8> kNames = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                                 "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  if (codec < 0 || codec >= static_cast<int64_t>(kNames.size())) {
    return absl::StrCat("codec ", codec);
  }
  return kNames[static_cast<size_t>(codec)];
}

uint64_t MostOf(Codec codec, uint64_t compressed) {
  const uint64_t ratio = codec == Codec::kSnappy   ? kSnappyRatio
                         : codec == Codec::kLz4Raw ? kLz4Ratio
                                                   : kGzipRatio;
  return compressed * ratio + kRatioMargin;
}

}  // namespace

std::string WhyUnsupportedCodec(int64_t codec) {
  for (const Codec known :
       {Codec::kNone, Codec::kSnappy, Codec::kGzip, Codec::kZstd, Codec::kLz4Raw}) {
    if (codec == static_cast<int64_t>(known)) return "";
  }
  return absl::StrCat("is compressed with ", NameOf(codec),
                      "; supported are SNAPPY, GZIP, ZSTD, LZ4_RAW and none");
}

absl::Status Decompress(int64_t codec, std::string_view compressed, uint64_t size,
                        std::vector<char>& bytes) {
  const auto kind = static_cast<Codec>(codec);
  if (size == 0 && kind != Codec::kNone) {  // Decompressors refuse a null pointer.
    bytes.clear();
    return absl::OkStatus();
  }
  if (kind == Codec::kZstd) return Unzstd(compressed, size, bytes);
  if (kind == Codec::kNone) {
    if (compressed.size() != size) return Malformed("uncompressed");
    bytes.assign(compressed.begin(), compressed.end());
    return absl::OkStatus();
  }
  if (size > MostOf(kind, compressed.size())) return Malformed(NameOf(codec));
  bytes.resize(size);
  if (kind == Codec::kSnappy) return Snappy(compressed, bytes);
  return kind == Codec::kLz4Raw ? Lz4(compressed, bytes) : Gunzip(compressed, bytes);
}

uint32_t PageCrc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace capstan::parquet
