#include "capstan/store/normal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace capstan {
namespace {

// Returns the natural logarithm of a normal, positive number: from its exponent, and for its
// mantissa m in [1, 2) from the series of artanh, log(m) = 2 artanh((m - 1) / (m + 1)), which
// converges as 9^-k.
double Log(double x) {
  constexpr double kLog2 = 0.693147180559945309417;
  const auto bits = std::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  const double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int k = 31; k >= 1; k -= 2) series = series * (s * s) + 1.0 / k;
  return exponent * kLog2 + 2 * s * series;
}

double Middle(double q) {
  const double r = 0.180625 - q * q;
  return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
         (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
}

// `r` is the square root of minus the logarithm of the tail's probability.
double Tail(double r) {
  if (r <= 5) {
    r -= 1.6;
    return (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
           ((0.12021132975 * r + 0.73700164250) * r + 1.0);
  }
  r -= 5;
  return (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
         ((0.012258202635 * r + 0.24197894225) * r + 1.0);
}

}  // namespace

double NormalQuantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) return Middle(q);
  const double tail = std::max(std::min(p, 1 - p), 0x1p-54);
  return std::copysign(Tail(std::sqrt(-Log(tail))), q);
}

}  // namespace capstan
