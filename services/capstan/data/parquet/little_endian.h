// Reads numbers of Parquet's pages.
#ifndef CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_
#define CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capstan::parquet {

// Returns the little-endian number in `bytes`, which are at most 8.
inline uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_
