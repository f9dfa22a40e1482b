#include "capstan/data/synthetic/zipf.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

// The first integer >= floor(0.6180339887 * n) without common divisor with n.
uint64_t ScatterFactor(uint32_t n) {
  uint64_t factor = std::max<uint64_t>(1, static_cast<uint64_t>(0.6180339887 * n));
  while (std::gcd(factor, uint64_t{n}) != 1) ++factor;
  return factor;
}

}  // namespace

Zipf::Zipf(uint32_t n, uint32_t shift)
    : cumulative_(n), guide_(n), factor_(ScatterFactor(n)), shift_(shift) {
  double sum = 0;
  for (uint32_t rank = 0; rank < n; ++rank) {
    sum += std::pow(rank + 1.0, -kExponent);
    cumulative_[rank] = sum;
  }
  for (double& probability : cumulative_) probability /= sum;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < n; ++i) {
    while (rank + 1 < n && cumulative_[rank] <= static_cast<double>(i) / n) ++rank;
    guide_[i] = rank;
  }
}

// The first rank whose cumulative probability exceeds u. The guide is at most a step or two away
// from it.
uint32_t Zipf::Rank(double u) const {
  const uint32_t last = size() - 1;
  uint32_t rank = guide_[std::min(last, static_cast<uint32_t>(u * size()))];
  while (rank > 0 && cumulative_[rank - 1] > u) --rank;  // Because of rounding in u * size().
  while (rank < last && cumulative_[rank] <= u) ++rank;
  return rank;
}

uint32_t Zipf::operator()(uint64_t bits) const {
  return static_cast<uint32_t>((Rank(Unit(bits)) * factor_ + shift_) % size());
}

}  // namespace capstan
