// A random permutation that needs no memory.
#ifndef CAPSTAN_BASE_PERMUTATION_H_
#define CAPSTAN_BASE_PERMUTATION_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "capstan/base/hash.h"

namespace capstan {

// A permutation of [0, size), drawn from (seed, stream): a Feistel network on the next power of
// four, walked until it is back in the range (Black, Rogaway: Ciphers with arbitrary finite
// domains, 2002). At most four rounds are expected. Immutable.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, uint64_t stream)
      : size_(size), half_bits_((std::bit_width(std::max(size, uint64_t{2}) - 1) + 1) / 2) {
    for (size_t round = 0; round < keys_.size(); ++round) keys_[round] = Draw(seed, stream, round);
  }

  // Returns the element at `place`. REQUIRES: place < size.
  uint64_t operator()(uint64_t place) const {
    do {
      place = Scramble(place);
    } while (place >= size_);
    return place;
  }

 private:
  uint64_t Scramble(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (const uint64_t key : keys_) {
      left = std::exchange(right, left ^ (Mix64(key + right * 0x9E3779B97F4A7C15u) & mask));
    }
    return left << half_bits_ | right;
  }

  uint64_t size_;
  uint64_t half_bits_;  // Half of the bits of a value.
  std::array<uint64_t, 6> keys_;
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_PERMUTATION_H_
