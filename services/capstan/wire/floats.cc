#include "capstan/wire/floats.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "capstan/optim/bfloat16.h"

namespace capstan::wire {
namespace {

// Converts as many at a time as there are in one slice. A value may be cut by the slice's end.
void TakeBfloat16s(BytesReader& from, size_t count, float* to) {
  while (count > 0) {
    const size_t whole = std::min(count, from.contiguous() / sizeof(uint16_t));
    if (whole > 0) {
      FromBfloat16(from.Skip(whole * sizeof(uint16_t)), whole, to);
      to += whole;
      count -= whole;
      continue;
    }
    uint16_t half;
    from.Read(&half, sizeof(half));
    *to++ = FromBfloat16(half);
    --count;
  }
}

}  // namespace

char* PutFloats(v1::Dtype dtype, const float* from, size_t count, char* to) {
  if (dtype == v1::DTYPE_BFLOAT16) {
    ToBfloat16(from, count, to);
  } else {
    std::memcpy(to, from, count * sizeof(float));
  }
  return to + count * FloatSize(dtype);
}

void TakeFloats(v1::Dtype dtype, BytesReader& from, size_t count, float* to) {
  if (dtype == v1::DTYPE_BFLOAT16) return TakeBfloat16s(from, count, to);
  from.Read(to, count * sizeof(float));
}

}  // namespace capstan::wire
