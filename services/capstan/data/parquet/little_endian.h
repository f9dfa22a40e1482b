// Numbers as Parquet's pages hold them.
#ifndef CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_
#define CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capstan::parquet {

// The number that at most 8 bytes make, the low ones first.
inline uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

// Takes seven bits a byte, the low ones first, from the front of `bytes`. False: they are none.
inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (uint32_t shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_LITTLE_ENDIAN_H_
