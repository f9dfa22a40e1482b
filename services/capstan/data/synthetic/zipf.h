// Zipf-distributed values, drawn in constant time.
#ifndef CAPSTAN_DATA_SYNTHETIC_ZIPF_H_
#define CAPSTAN_DATA_SYNTHETIC_ZIPF_H_

#include <cstdint>
#include <vector>

namespace capstan {

// Rank r of n has the weight (r + 1)^-1.05; ranks are scattered over 0 .. n - 1 by a bijection, so
// that popular values are not neighbours. Immutable.
class Zipf {
 public:
  static constexpr double kExponent = 1.05;

  // `shift` distinguishes columns of the same size. REQUIRES: n >= 1.
  Zipf(uint32_t n, uint32_t shift);

  uint32_t size() const { return static_cast<uint32_t>(cumulative_.size()); }

  // Returns the value for 64 random bits.
  uint32_t operator()(uint64_t bits) const;

 private:
  uint32_t Rank(double u) const;

  std::vector<double> cumulative_;  // cumulative_[r]: probability of a rank <= r.
  // guide_[i]: the first rank whose cumulative probability exceeds i / guide_.size().
  std::vector<uint32_t> guide_;
  uint64_t factor_;
  uint64_t shift_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_SYNTHETIC_ZIPF_H_
