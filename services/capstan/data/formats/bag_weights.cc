#include "capstan/data/formats/bag_weights.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"

namespace capstan {

char SeparatorOf(const v1::FeatureSpec& spec) {
  return spec.separator().empty() ? '|' : spec.separator().front();
}

std::string_view TakeValue(std::string_view& cell, char separator) {
  const std::string_view value = cell.substr(0, cell.find(separator));
  cell.remove_prefix(std::min(cell.size(), value.size() + 1));
  return value;
}

uint32_t CountValues(std::string_view cell, char separator) {
  uint32_t count = 0;
  while (!cell.empty()) count += !TakeValue(cell, separator).empty();
  return count;
}

BagWeightRule::BagWeightRule(const v1::FeatureSpec& spec)
    : name_(spec.name()),
      mean_(spec.pooling() == v1::POOLING_MEAN),
      separator_(SeparatorOf(spec)),
      most_(spec.most()) {}

bool BagWeightRule::Append(std::string_view cell, std::vector<float>& weights,
                           std::string& error) const {
  for (uint32_t taken = 0; !cell.empty() && taken < most_;) {
    const std::string_view value = TakeValue(cell, separator_);
    if (value.empty()) continue;
    float weight = std::nanf("");
    (void)ParseFloat(value, weight);  // A text that is no number stays NaN, which Admit refuses.
    if (!Admit(weight, value, error)) return false;
    weights.push_back(weight);
    ++taken;
  }
  return true;
}

bool BagWeightRule::Admit(float weight, std::string_view shown, std::string& error) const {
  if (std::isfinite(weight) && (weight >= 0 || !mean_)) return true;
  error = absl::StrCat("weight ", Quote(shown), " of ", name_, " is not a number",
                       mean_ ? " from 0 on, as pooling: mean needs it" : "");
  return false;
}

std::string BagWeightRule::WhyNot(uint32_t weights, uint32_t values) const {
  if (weights == values) return "";
  return absl::StrCat(weights, weights == 1 ? " weight" : " weights", " for ", values,
                      values == 1 ? " value" : " values", " of ", name_, "; expected one each");
}

}  // namespace capstan
