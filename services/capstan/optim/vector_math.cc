#include "capstan/optim/vector_math.h"

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/vector_math.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

// Infinities and NaNs are the values whose exponent bits are all ones.
bool AllFiniteKernel(const void* values, size_t count) {
  const hn::ScalableTag<int32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const auto exponent = hn::Set(d, 0x7F800000);
  auto largest = hn::Zero(d);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto bits = hn::BitCast(d, LoadPacked(df, values, i));
    largest = hn::Max(largest, hn::And(bits, exponent));
  }
  bool finite = hn::AllTrue(d, hn::Lt(largest, exponent));
  for (; i < count; ++i) {
    int32_t bits;
    std::memcpy(&bits, static_cast<const char*>(values) + 4 * i, 4);
    finite &= (bits & 0x7F800000) != 0x7F800000;
  }
  return finite;
}

void AddScaledKernel(float weight, const void* values, float* sum, size_t count) {
  ForEachVector(count, [&](auto d, size_t i) HWY_ATTR {
    const auto product = hn::Mul(hn::Set(d, weight), LoadPacked(d, values, i));
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), product), d, sum + i);
  });
}

void ScaleKernel(float weight, const void* values, float* result, size_t count) {
  ForEachVector(count, [&](auto d, size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, weight), LoadPacked(d, values, i)), d, result + i);
  });
}

void CompensateKernel(const Compensation& compensation, float* result, size_t count) {
  const Compensation c = compensation;
  ForEachVector(count, [&](auto d, size_t i) HWY_ATTR {
    const auto g = LoadPacked(d, c.gradient, i);
    const auto drift = hn::Sub(hn::LoadU(d, c.now + i), LoadPacked(d, c.pulled, i));
    const auto lambda_g_g = hn::Mul(hn::Mul(hn::Set(d, c.lambda), g), g);
    hn::StoreU(hn::Add(g, hn::Mul(lambda_g_g, drift)), d, result + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(AllFiniteKernel);
HWY_EXPORT(AddScaledKernel);
HWY_EXPORT(ScaleKernel);
HWY_EXPORT(CompensateKernel);

bool AllFinite(const void* values, size_t count) {
  return HWY_DYNAMIC_DISPATCH(AllFiniteKernel)(values, count);
}

void AddScaled(float weight, const void* values, float* sum, size_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaledKernel)(weight, values, sum, count);
}

void Scale(float weight, const void* values, float* result, size_t count) {
  HWY_DYNAMIC_DISPATCH(ScaleKernel)(weight, values, result, count);
}

void Compensate(const Compensation& compensation, float* result, size_t count) {
  HWY_DYNAMIC_DISPATCH(CompensateKernel)(compensation, result, count);
}

}  // namespace capstan
#endif  // HWY_ONCE
