// gzip and zstd, taken off while reading.
#ifndef CAPSTAN_DATA_FORMATS_COMPRESSION_H_
#define CAPSTAN_DATA_FORMATS_COMPRESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

enum class Compression { kNone, kGzip, kZstd };

// By the first bytes of the file. DATA_LOSS: the name ends in .gz or .zst, the content says
// otherwise.
absl::StatusOr<Compression> DetectCompression(const Source& source, const std::string& path);

// The contents of a file from the front, decompressed if they are compressed. `likely_end`: as of
// Source::Open, in stored bytes.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         uint64_t likely_end = Source::kToTheEnd);
// Opens a file whose compression is known already.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         Compression compression,
                                                         uint64_t likely_end);

// What zlib knows within a member of gzip.
struct GzipState;

// A place from which a file can be decompressed without what lies before. An immutable value; one
// within a member of gzip takes 40 KiB, any other next to nothing.
struct RestartPoint {
  static constexpr size_t kBefore = 16;

  uint64_t content = 0;     // Bytes of the content that lie before it.
  uint64_t stored = 0;      // Bytes of the file that these took.
  std::string before = {};  // The last kBefore of them, by which the file is known again.
  // Shared by all copies of this point and by the streams that begin there. Null: a member of gzip,
  // or a frame of zstd, begins here.
  std::shared_ptr<GzipState> state = nullptr;
};

// Hears, while a file is decompressed, of the places at which it could be restarted.
class RestartKeeper {
 public:
  virtual ~RestartKeeper() = default;
  // Whether a point at this byte of the content is to be kept.
  virtual bool Wants(uint64_t content) const = 0;
  virtual void Keep(RestartPoint point) = 0;
};

// Decompress `compressed`; several members or frames one after another make one stream. Data that
// is malformed or ends early is DATA_LOSS, with `path` and the byte of the compressed file. Where
// `from` is not the front, `compressed` begins at from.stored, and the stream at from.content; a
// checksum that stands behind is that of the whole member nevertheless. `keeper` must outlive the
// stream; null: nobody asks. Of zstd only the begin of a frame is a place to restart at.
std::unique_ptr<ByteStream> NewGzipStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from = {},
                                          RestartKeeper* keeper = nullptr);
std::unique_ptr<ByteStream> NewZstdStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from = {},
                                          RestartKeeper* keeper = nullptr);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_COMPRESSION_H_
