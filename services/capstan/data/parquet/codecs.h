// What the pages of Parquet files are compressed with.
#ifndef CAPSTAN_DATA_PARQUET_CODECS_H_
#define CAPSTAN_DATA_PARQUET_CODECS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace capstan::parquet {

// Returns "" if pages of this codec can be read; otherwise its name, and what is supported.
std::string WhyUnsupportedCodec(int64_t codec);

// Replaces `bytes` with what `compressed` holds, which must be `size` bytes. Whatever `size` says,
// no more memory is taken than so many compressed bytes can give. DATA_LOSS: it is something else;
// the message says what. REQUIRES: the codec is supported.
absl::Status Decompress(int64_t codec, std::string_view compressed, uint64_t size,
                        std::vector<char>& bytes);

// The checksum of a page, as gzip's.
uint32_t PageCrc(std::string_view bytes);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_CODECS_H_
