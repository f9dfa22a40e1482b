// Decompresses gzip and zstd while a file is read.
#ifndef CAPSTAN_DATA_FORMATS_COMPRESSION_H_
#define CAPSTAN_DATA_FORMATS_COMPRESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

enum class Compression { kNone, kGzip, kZstd };

// Determines the compression of a file by its first bytes. DATA_LOSS: the name ends in .gz or .zst,
// but the content does not have that compression.
absl::StatusOr<Compression> DetectCompression(const Source& source, const std::string& path);

// Opens the content of a file from its beginning, decompressing it if it is compressed.
// `likely_end`: as for Source::Open, in stored bytes.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         uint64_t likely_end = Source::kToTheEnd);
// Opens a file whose compression is known already.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         Compression compression,
                                                         uint64_t likely_end);

// The state of zlib within a gzip member.
struct GzipState;

// A position from which a file can be decompressed without the bytes before it. An immutable value.
// A point within a gzip member takes 40 KiB, any other very little.
struct RestartPoint {
  static constexpr size_t kBefore = 16;

  uint64_t content = 0;  // Decompressed bytes before the point.
  uint64_t stored = 0;   // Stored bytes of the file before the point.
  // The last kBefore stored bytes before the point. If the file has other bytes there, it has
  // changed.
  std::string before = {};
  // Shared by all copies of this point and by the streams that begin there. Null: a gzip member, or
  // a zstd frame, begins here.
  std::shared_ptr<GzipState> state = nullptr;
};

// Receives, while a file is decompressed, the positions at which decompression could be restarted.
class RestartKeeper {
 public:
  virtual ~RestartKeeper() = default;
  // Returns true if a point at byte `content` of the decompressed content should be kept.
  virtual bool Wants(uint64_t content) const = 0;
  virtual void Keep(RestartPoint point) = 0;
};

// Decompress `compressed`; several members or frames in sequence are read as one stream. DATA_LOSS,
// with `path` and the byte of the compressed file: the data are malformed or truncated. If `from`
// is not the beginning, `compressed` begins at from.stored, and the stream at from.content; the
// checksum at the end of a gzip member is still verified over the whole member. `keeper` must
// outlive the stream; null: no points are kept. A zstd file can be restarted only where a frame
// begins.
std::unique_ptr<ByteStream> NewGzipStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from = {},
                                          RestartKeeper* keeper = nullptr);
std::unique_ptr<ByteStream> NewZstdStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from = {},
                                          RestartKeeper* keeper = nullptr);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_COMPRESSION_H_
