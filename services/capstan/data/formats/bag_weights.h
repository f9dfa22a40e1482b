// The weights of the values of one of data.features: by what the row of each value counts in its
// record's bag.
#ifndef CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_
#define CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// What stands between two values of a cell.
char SeparatorOf(const v1::FeatureSpec& spec);

// Takes the next value off a cell that is not empty; it may be empty itself, and is none then.
std::string_view TakeValue(std::string_view& cell, char separator);

// How many values a text holds: those that are empty are none.
uint32_t CountValues(std::string_view cell, char separator);

// A plain value; thread-compatible. A cell has one for each value of the feature's cell, in the
// same order, between the same separators; of more than `most` the first ones count.
class BagWeightRule {
 public:
  // REQUIRES: the feature has weights.
  explicit BagWeightRule(const v1::FeatureSpec& spec);

  // Adds those of a cell. False: `error` says what was expected; some may have been added.
  bool Append(std::string_view cell, std::vector<float>& weights, std::string& error) const;
  // Whether this can be a weight. False: as above; `shown` is what was found.
  bool Admit(float weight, std::string_view shown, std::string& error) const;
  // How many a text holds, also beyond `most`.
  uint32_t CountOf(std::string_view cell) const { return CountValues(cell, separator_); }

  uint32_t most() const { return most_; }
  // What is wrong where a record has so many weights and so many values; empty: nothing.
  std::string WhyNot(uint32_t weights, uint32_t values) const;

 private:
  std::string name_;
  bool mean_;  // They are divided by their sum, which must not be below 0.
  char separator_;
  uint32_t most_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_BAG_WEIGHTS_H_
