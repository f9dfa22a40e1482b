// Integers in the encoding of protobuf and Thrift.
#ifndef CAPSTAN_DATA_FORMATS_VARINT_H_
#define CAPSTAN_DATA_FORMATS_VARINT_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// Parses a number, seven bits per byte and the low ones first, and removes it from the front of
// `bytes`. Returns false if the bytes are not such a number.
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

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_VARINT_H_
