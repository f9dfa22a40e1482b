// CRC32C (Castagnoli), the checksum of everything that is stored.
#ifndef CAPSTAN_BASE_CRC32C_H_
#define CAPSTAN_BASE_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// Returns the checksum of `data`. If `preceding` is the checksum of the bytes before it, returns
// the checksum of all these bytes together.
uint32_t Crc32c(std::string_view data, uint32_t preceding = 0);

// The same without the CPU's CRC instruction, for machines that have none.
uint32_t PortableCrc32c(std::string_view data, uint32_t preceding = 0);

}  // namespace capstan

#endif  // CAPSTAN_BASE_CRC32C_H_
