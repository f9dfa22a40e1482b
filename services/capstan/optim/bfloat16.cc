#include "capstan/optim/bfloat16.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/bfloat16.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void ToBfloat16Kernel(const float* from, size_t count, void* to) {
  const hn::ScalableTag<int32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  char* const out = static_cast<char*>(to);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto bits = hn::BitCast(d, hn::LoadU(df, from + i));
    const auto high = hn::ShiftRight<16>(bits);
    const auto up = hn::Add(hn::Set(d, 0x7FFF), hn::And(high, hn::Set(d, 1)));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, up));
    const auto nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7FFFFFFF)), hn::Set(d, 0x7F800000));
    const auto chosen = hn::IfThenElse(nan, hn::Or(high, hn::Set(d, 0x40)), rounded);
    // The shifts have copied the sign upwards.
    const auto halves = hn::DemoteTo(d16, hn::And(chosen, hn::Set(d, 0xFFFF)));
    hn::StoreU(halves, d16, reinterpret_cast<uint16_t*>(out + 2 * i));
  }
  for (; i < count; ++i) {
    const uint16_t half = capstan::ToBfloat16(from[i]);
    std::memcpy(out + 2 * i, &half, sizeof(half));
  }
}

void FromBfloat16Kernel(const void* from, size_t count, float* to) {
  const hn::ScalableTag<uint32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const char* const in = static_cast<const char*>(from);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto halves = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(in + 2 * i));
    hn::StoreU(hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(d, halves))), df, to + i);
  }
  for (; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, in + 2 * i, sizeof(half));
    to[i] = capstan::FromBfloat16(half);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(ToBfloat16Kernel);
HWY_EXPORT(FromBfloat16Kernel);

void ToBfloat16(const float* from, size_t count, void* to) {
  HWY_DYNAMIC_DISPATCH(ToBfloat16Kernel)(from, count, to);
}

void FromBfloat16(const void* from, size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(FromBfloat16Kernel)(from, count, to);
}

}  // namespace capstan
#endif  // HWY_ONCE
