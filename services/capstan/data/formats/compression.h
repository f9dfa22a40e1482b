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
// The same where the compression is known.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenContents(const Source& source,
                                                         const std::string& path,
                                                         Compression compression,
                                                         uint64_t likely_end);

// Decompress `compressed`; several members or frames one after another make one stream. Data that
// is malformed or ends early is DATA_LOSS, with `path` and the byte of the compressed file.
std::unique_ptr<ByteStream> NewGzipStream(std::string path, std::unique_ptr<ByteStream> compressed);
std::unique_ptr<ByteStream> NewZstdStream(std::string path, std::unique_ptr<ByteStream> compressed);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_COMPRESSION_H_
