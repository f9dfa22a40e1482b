// The weights of the values of a feature in data.features: the factor of each value's row in the
// record's bag.
#ifndef CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_
#define CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the character that separates two values of a cell.
char SeparatorOf(const v1::FeatureSpec& spec);

// Removes the next value from the front of a cell, which must not be empty, together with the
// separator after it, and returns it. The caller has to ignore empty values.
std::string_view TakeValue(std::string_view& cell, char separator);

// Returns how many values a text has, not counting empty ones.
uint32_t CountValues(std::string_view cell, char separator);

// Reads cells of weights. A cell has one weight for each value of the feature's cell, in the same
// order, with the same separator; only the first `most` count. A plain value; thread-compatible.
class BagWeightRule {
 public:
  // REQUIRES: the feature has weights.
  explicit BagWeightRule(const v1::FeatureSpec& spec);

  // Appends the weights of a cell. Returns false if one of them is not a weight: `error` then says
  // what was expected, and the weights before it may have been appended.
  bool Append(std::string_view cell, std::vector<float>& weights, std::string& error) const;
  // Returns true if `weight` is a valid weight. If not, `error` says what was expected in place of
  // `shown`.
  bool Admit(float weight, std::string_view shown, std::string& error) const;
  // Returns how many weights a text has, including those beyond `most`.
  uint32_t CountOf(std::string_view cell) const { return CountValues(cell, separator_); }

  uint32_t most() const { return most_; }
  // Returns what is wrong with a record that has `weights` weights for `values` values; empty if
  // nothing is.
  std::string WhyNot(uint32_t weights, uint32_t values) const;

 private:
  std::string name_;
  bool mean_;  // Pooling is by mean: weights are divided by their sum, so none may be negative.
  char separator_;
  uint32_t most_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_
