// Draws one of many things, each as often as its weight says, in constant time.
#ifndef CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_
#define CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace capstan {

// The alias method (Walker, "New fast method for generating discrete random variables with
// arbitrary frequency distributions", Electronics Letters 1974), built as Vose does ("A linear
// algorithm for generating random numbers with a given distribution", IEEE Transactions on Software
// Engineering 1991): every place is as probable as any other, and is shared by at most two things.
// 8 bytes a thing. Immutable.
class AliasTable {
 public:
  // REQUIRES: 1 to 2^31 weights, finite, none below 0, and one of them above 0.
  explicit AliasTable(std::span<const double> weights);

  // Returns the thing that 64 random bits choose. A pure function.
  size_t Choose(uint64_t bits) const;

  size_t size() const { return places_.size(); }

 private:
  struct Place {
    float own;       // Probability that a draw of place i gives thing i,
    uint32_t other;  // and the thing that it gives otherwise.
  };
  std::vector<Place> places_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_ALIAS_TABLE_H_
