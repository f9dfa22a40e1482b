// The mixing function and the counter-based random numbers based on it: a draw is a pure function
// of (seed, stream, index), so data, initial rows and placement are the same wherever and whenever
// they are computed.
#ifndef CAPSTAN_BASE_HASH_H_
#define CAPSTAN_BASE_HASH_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014). A bijection.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns 64 random bits for (seed, stream, index).
constexpr uint64_t Draw(uint64_t seed, uint64_t stream, uint64_t index) {
  return Mix64(Mix64(seed ^ Mix64(stream)) + (index + 1) * 0x9E3779B97F4A7C15u);
}

// Returns a number in [0, 1), with 53 random bits.
constexpr double Unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// Returns the hash of a text (FNV-1a, then Mix64). It must never change, because stored keys
// contain it.
constexpr uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Mix64(hash);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_HASH_H_
