// Loops of the kernels, compiled once for each SIMD target. They use no fused multiply-add and no
// reductions across a vector, so that every target computes the same bits.
#include <cstddef>

#include "capstan/optim/optimizer.h"
#include "capstan/optim/shaping.h"
#include "hwy/highway.h"

// Highway's include guard: once for each target.
#if defined(CAPSTAN_OPTIM_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_OPTIM_ELEMENTWISE_INL_H_
#undef CAPSTAN_OPTIM_ELEMENTWISE_INL_H_
#else
#define CAPSTAN_OPTIM_ELEMENTWISE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls step(d, i) for whole vectors, then for quarters of 4 floats, then for single floats.
template <typename Step>
HWY_INLINE void ForEachVector(size_t count, const Step& step) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, 4> quad;
  const hn::CappedTag<float, 1> single;
  size_t i = 0;
  for (; i + hn::Lanes(wide) <= count; i += hn::Lanes(wide)) step(wide, i);
  for (; i + hn::Lanes(quad) <= count; i += hn::Lanes(quad)) step(quad, i);
  for (; i < count; ++i) step(single, i);
}

// Loads packed floats, at any alignment, beginning at the i-th.
template <class D>
HWY_INLINE hn::Vec<D> LoadPacked(D d, const void* values, size_t i) {
  return hn::LoadU(d, reinterpret_cast<const float*>(static_cast<const char*>(values) + 4 * i));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V ShapedGradient(D d, const Shaping& shaping, const void* gradient, size_t i,
                            V weights) {
  const V limit = hn::Set(d, shaping.clip);
  const V clipped = hn::Min(hn::Max(LoadPacked(d, gradient, i), hn::Neg(limit)), limit);
  return hn::Add(clipped, hn::Mul(hn::Set(d, shaping.decay), weights));
}

// Updates every weight once. rule(d, i, w, g) gets the weights beginning at the i-th and their
// shaped gradient, updates the slots, and returns the new weights.
template <typename Rule>
HWY_INLINE void UpdateWeights(const Parameters& p, const Shaping& shaping, const void* gradient,
                              const Rule& rule) {
  ForEachVector(p.width, [&](auto d, size_t i) HWY_ATTR {
    const auto w = hn::LoadU(d, p.weights + i);
    const auto g = ShapedGradient(d, shaping, gradient, i, w);
    hn::StoreU(rule(d, i, w, g), d, p.weights + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // CAPSTAN_OPTIM_ELEMENTWISE_INL_H_
