#include "capstan/data/formats/compression.h"

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {

using std::string_view_literals::operator""sv;

absl::StatusOr<Compression> DetectCompression(const Source& source, const std::string& path) {
  char bytes[4];
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, source.Open(path, 0, sizeof(bytes)));
  size_t size = 0;
  while (size < sizeof(bytes)) {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, stream->Read(std::span(bytes).subspan(size)));
    if (n == 0) break;
    size += n;
  }
  std::string_view front(bytes, size);
  if (front.starts_with("\x1F\x8B"sv)) return Compression::kGzip;
  if (front == "\x28\xB5\x2F\xFD"sv) return Compression::kZstd;
  if (absl::EndsWith(path, ".gz") || absl::EndsWith(path, ".zst")) {
    return absl::DataLossError(absl::StrCat(path, ": byte 0: is not ",
                                            absl::EndsWith(path, ".gz") ? "gzip" : "zstd",
                                            " data, as its name says"));
  }
  return Compression::kNone;
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         uint64_t likely_end) {
  CAPSTAN_ASSIGN_OR_RETURN(const Compression compression, DetectCompression(source, path));
  return OpenContents(source, path, compression, likely_end);
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         Compression compression,
                                                         uint64_t likely_end) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stored, source.Open(path, 0, likely_end));
  switch (compression) {
    case Compression::kGzip:
      return NewGzipStream(path, std::move(stored));
    case Compression::kZstd:
      return NewZstdStream(path, std::move(stored));
    case Compression::kNone:
      break;
  }
  return stored;
}

}  // namespace capstan
