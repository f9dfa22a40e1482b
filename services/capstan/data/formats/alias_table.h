// Draws one of many items, each with a probability proportional to its weight, in constant time.
#ifndef CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_
#define CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace capstan {

// The alias method (Walker, "New fast method for generating discrete random variables with
// arbitrary frequency distributions", Electronics Letters 1974), built with Vose's algorithm ("A
// linear algorithm for generating random numbers with a given distribution", IEEE Transactions on
// Software Engineering 1991): every place is equally probable, and is shared by at most two items.
// Takes 8 bytes per item. Immutable.
class AliasTable {
 public:
  // REQUIRES: 1 to 2^31 weights, finite, none below 0, and one of them above 0.
  explicit AliasTable(std::span<const double> weights);

  // Returns the index of the item that 64 random bits choose. A pure function.
  size_t Choose(uint64_t bits) const;

  size_t size() const { return places_.size(); }

 private:
  struct Place {
    float own;       // The probability that a draw of place i yields item i.
    uint32_t other;  // The item that it yields otherwise.
  };
  std::vector<Place> places_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_
