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

// Each vector has two of the eight sums on every target, so that the bits are the same.
double CopyAndSquareKernel(const void* values, float* result, size_t count) {
  const hn::FixedTag<double, 2> d;
  const hn::Rebind<float, decltype(d)> df;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto square = [&](size_t i) HWY_ATTR {
    const auto floats = LoadPacked(df, values, i);
    hn::StoreU(floats, df, result + i);
    const auto value = hn::PromoteTo(d, floats);
    return hn::Mul(value, value);
  };
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    s0 = hn::Add(s0, square(i));
    s1 = hn::Add(s1, square(i + 2));
    s2 = hn::Add(s2, square(i + 4));
    s3 = hn::Add(s3, square(i + 6));
  }
  double sum = 0;
  for (; i < count; ++i) {
    float value;
    std::memcpy(&value, static_cast<const char*>(values) + 4 * i, 4);
    result[i] = value;
    sum += static_cast<double>(value) * value;
  }
  double sums[8];
  hn::StoreU(s0, d, sums);
  hn::StoreU(s1, d, sums + 2);
  hn::StoreU(s2, d, sums + 4);
  hn::StoreU(s3, d, sums + 6);
  for (const double of_eighth : sums) sum += of_eighth;
  return sum;
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
HWY_EXPORT(CopyAndSquareKernel);
HWY_EXPORT(AddScaledKernel);
HWY_EXPORT(ScaleKernel);
HWY_EXPORT(CompensateKernel);

bool AllFinite(const void* values, size_t count) {
  return HWY_DYNAMIC_DISPATCH(AllFiniteKernel)(values, count);
}

double CopyAndSquare(const void* values, float* result, size_t count) {
  return HWY_DYNAMIC_DISPATCH(CopyAndSquareKernel)(values, result, count);
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
