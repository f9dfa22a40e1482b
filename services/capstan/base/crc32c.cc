#include "capstan/base/crc32c.h"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace capstan {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Bit-reversed.

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: the effect of byte b on the checksum if k more bytes follow it.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint64_t LoadWord(const char* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

}  // namespace

uint32_t PortableCrc32c(std::string_view data, uint32_t preceding) {
  uint32_t crc = ~preceding;
  for (; data.size() >= 8; data.remove_prefix(8)) {
    const uint64_t word = LoadWord(data.data()) ^ crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kTables[7 - byte][(word >> (8 * byte)) & 0xFF];
  }
  for (char c : data) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

#ifdef __SSE4_2__
uint32_t Crc32c(std::string_view data, uint32_t preceding) {
  uint64_t crc = ~preceding;
  for (; data.size() >= 8; data.remove_prefix(8)) crc = _mm_crc32_u64(crc, LoadWord(data.data()));
  auto rest = static_cast<uint32_t>(crc);
  for (char c : data) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(c));
  return ~rest;
}
#else
uint32_t Crc32c(std::string_view data, uint32_t preceding) {
  return PortableCrc32c(data, preceding);
}
#endif

}  // namespace capstan
