// Floats as they travel: packed little-endian, float32 or bfloat16, at any alignment.
#ifndef CAPSTAN_WIRE_FLOATS_H_
#define CAPSTAN_WIRE_FLOATS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capstan/v1/common.pb.h"
#include "capstan/wire/message.h"

namespace capstan::wire {

static_assert(std::endian::native == std::endian::little, "floats are copied as they are");

inline size_t FloatSize(v1::Dtype dtype) { return dtype == v1::DTYPE_BFLOAT16 ? 2 : 4; }

// To the nearest, ties to even; NaN stays a (quiet) NaN.
inline uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float FromBfloat16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// Writes `count` floats to `to`. Returns the end.
inline char* PutFloats(v1::Dtype dtype, const float* from, size_t count, char* to) {
  if (dtype != v1::DTYPE_BFLOAT16) {
    std::memcpy(to, from, count * sizeof(float));
    return to + count * sizeof(float);
  }
  for (size_t i = 0; i < count; ++i, to += 2) {
    const uint16_t half = ToBfloat16(from[i]);
    std::memcpy(to, &half, sizeof(half));
  }
  return to;
}

// Reads `count` floats.
inline void TakeFloats(v1::Dtype dtype, BytesReader& from, size_t count, float* to) {
  if (dtype != v1::DTYPE_BFLOAT16) {
    from.Read(to, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    from.Read(&half, sizeof(half));
    to[i] = FromBfloat16(half);
  }
}

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_FLOATS_H_
