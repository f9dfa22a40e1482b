#include "capstan/data/formats/alias_table.h"

#include <algorithm>
#include <numeric>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"

namespace capstan {

AliasTable::AliasTable(std::span<const double> weights) : places_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  CAPSTAN_CHECK(!weights.empty() && weights.size() <= size_t{1} << 31 && sum > 0);
  const double mean = sum / static_cast<double>(weights.size());
  // How much of each item is not placed yet, in units of a place.
  std::vector<double> left(weights.size());
  std::vector<uint32_t> small;
  std::vector<uint32_t> large;
  for (uint32_t i = 0; i < left.size(); ++i) {
    left[i] = weights[i] / mean;
    places_[i] = {.own = 1, .other = i};
    (left[i] < 1 ? small : large).push_back(i);
  }
  // An item that does not fill its own place shares it with an item that has more than one place
  // left. Items that remain in either list because of rounding fill their own places.
  while (!small.empty() && !large.empty()) {
    const uint32_t one = small.back();
    const uint32_t other = large.back();
    small.pop_back();
    places_[one] = {.own = static_cast<float>(left[one]), .other = other};
    left[other] -= 1 - left[one];
    if (left[other] >= 1) continue;
    large.pop_back();
    small.push_back(other);
  }
}

size_t AliasTable::Choose(uint64_t bits) const {
  const double where = Unit(bits) * static_cast<double>(places_.size());
  const size_t place = std::min(places_.size() - 1, static_cast<size_t>(where));
  const bool own = where - static_cast<double>(place) < static_cast<double>(places_[place].own);
  return own ? place : places_[place].other;
}

}  // namespace capstan
