// CRC32C (Castagnoli), the checksum of everything that is stored.
#ifndef CAPSTAN_BASE_CRC32C_H_
#define CAPSTAN_BASE_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// The checksum of `data`; with the checksum of what precedes it, that of both together.
uint32_t Crc32c(std::string_view data, uint32_t preceding = 0);

// The same without the processor's instruction, for machines that have none.
uint32_t PortableCrc32c(std::string_view data, uint32_t preceding = 0);

}  // namespace capstan

#endif  // CAPSTAN_BASE_CRC32C_H_
