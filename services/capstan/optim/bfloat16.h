// Converts float32 to bfloat16 and back, with vectors as wide as the CPU allows and bit-equal
// results on every machine. bfloat16s are 2 bytes, little-endian, at any alignment, as in messages.
#ifndef CAPSTAN_OPTIM_BFLOAT16_H_
#define CAPSTAN_OPTIM_BFLOAT16_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace capstan {

// Rounds to the nearest, ties to even. A NaN stays a (quiet) NaN.
inline uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float FromBfloat16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// The same for `count` values. Writes 2 * count bytes.
void ToBfloat16(const float* from, size_t count, void* to);
// Reads 2 * count bytes.
void FromBfloat16(const void* from, size_t count, float* to);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_BFLOAT16_H_
