// Decompresses the pages of Parquet files.
#ifndef CAPSTAN_DATA_PARQUET_CODECS_H_
#define CAPSTAN_DATA_PARQUET_CODECS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace capstan::parquet {

// Returns "" if pages with this codec can be read; otherwise its name, and what is supported.
std::string WhyUnsupportedCodec(int64_t codec);

// Replaces `bytes` by the decompressed bytes of `compressed`, which must be `size` bytes. Allocates
// at most what that many compressed bytes can decompress to, whatever `size` says. DATA_LOSS: the
// data are malformed or have another size; the message says which. REQUIRES: the codec is
// supported.
absl::Status Decompress(int64_t codec, std::string_view compressed, uint64_t size,
                        std::vector<char>& bytes);

// Returns the checksum of a page, which is the CRC-32 of gzip.
uint32_t PageCrc(std::string_view bytes);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_CODECS_H_
