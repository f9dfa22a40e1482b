// Floats in messages: packed little-endian, float32 or bfloat16, at any alignment.
#ifndef CAPSTAN_WIRE_FLOATS_H_
#define CAPSTAN_WIRE_FLOATS_H_

#include <bit>
#include <cstddef>

#include "capstan/v1/common.pb.h"
#include "capstan/wire/message.h"

namespace capstan::wire {

static_assert(std::endian::native == std::endian::little, "floats are copied as they are");

inline size_t FloatSize(v1::Dtype dtype) { return dtype == v1::DTYPE_BFLOAT16 ? 2 : 4; }

// Writes `count` floats to `to`, rounded as in optim/bfloat16.h. Returns the end.
char* PutFloats(v1::Dtype dtype, const float* from, size_t count, char* to);

// Reads `count` floats. REQUIRES: that many remain.
void TakeFloats(v1::Dtype dtype, BytesReader& from, size_t count, float* to);

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_FLOATS_H_
