#include "capstan/model/auc.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "capstan/base/check.h"

namespace capstan {
namespace {

template <typename Count>
Auc AucOfBins(std::span<const Count> positives, std::span<const Count> negatives) {
  CAPSTAN_CHECK(positives.size() == kLogitBins && negatives.size() == kLogitBins);
  double wins = 0, ties = 0, below = 0, total = 0;  // `below`: negatives in lower bins.
  for (int i = 0; i < kLogitBins; ++i) {
    const double p = static_cast<double>(positives[i]);
    const double n = static_cast<double>(negatives[i]);
    wins += p * below;
    ties += p * n;
    below += n;
    total += p;
  }
  const double pairs = total * below;
  if (pairs == 0) return {.value = std::numeric_limits<double>::quiet_NaN()};
  return {.value = (wins + 0.5 * ties) / pairs, .error = 0.5 * ties / pairs};
}

}  // namespace

int LogitBin(float logit) {
  constexpr int kBinsASign = kLogitBins / 2;
  constexpr int kBitsABin = 23 - 8;  // 256 bins per octave of 1 + |logit|.
  if (std::isnan(logit)) return 0;
  // Positive floats are ordered like their bits, which count 2^23 steps per octave.
  const uint32_t bits = std::bit_cast<uint32_t>(1.0f + std::abs(logit));
  const int distance =
      std::min<int>((bits - std::bit_cast<uint32_t>(1.0f)) >> kBitsABin, kBinsASign - 1);
  return std::signbit(logit) ? kBinsASign - 1 - distance : kBinsASign + distance;
}

Auc AucOf(std::span<const uint64_t> positives, std::span<const uint64_t> negatives) {
  return AucOfBins(positives, negatives);
}

Auc AucOf(std::span<const double> positives, std::span<const double> negatives) {
  return AucOfBins(positives, negatives);
}

}  // namespace capstan
