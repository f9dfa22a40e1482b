#include "capstan/store/gradient_sum.h"

#include <algorithm>
#include <bit>

#include "capstan/base/hash.h"
#include "capstan/optim/vector_math.h"

namespace capstan {

void KeyGroups::Build(absl::Span<const RowGradients> gradients) {
  gradients_ = gradients;
  size_t total = 0;
  for (const RowGradients& gradient : gradients) total += gradient.keys.size();
  keys_.clear();
  begin_.clear();
  row_weights_.clear();
  occurrences_.clear();
  occurrences_.reserve(total);
  group_of_.clear();
  group_of_.reserve(total);
  slots_.assign(std::bit_ceil(2 * total + 2), 0);
  for (uint32_t g = 0; g < gradients.size(); ++g) {
    const PackedKeys& keys = gradients[g].keys;
    for (uint32_t i = 0; i < keys.size(); ++i) {
      group_of_.push_back(GroupOf(keys[i]));
      occurrences_.push_back({g, i});
    }
  }
  if (keys_.size() < total) SortIntoGroups();
}

uint32_t KeyGroups::GroupOf(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  size_t i = Mix64(key) & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    if (keys_[slots_[i] - 1] == key) return slots_[i] - 1;
  }
  keys_.push_back(key);
  slots_[i] = static_cast<uint32_t>(keys_.size());
  return slots_[i] - 1;
}

// A counting sort, which keeps the order of the gradients within a group.
void KeyGroups::SortIntoGroups() {
  begin_.assign(keys_.size() + 1, 0);
  for (uint32_t group : group_of_) ++begin_[group + 1];
  for (size_t group = 0; group < keys_.size(); ++group) begin_[group + 1] += begin_[group];
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  std::vector<Occurrence> sorted(occurrences_.size());
  for (size_t i = 0; i < occurrences_.size(); ++i) sorted[next[group_of_[i]]++] = occurrences_[i];
  occurrences_.swap(sorted);
}

absl::Span<const KeyGroups::Occurrence> KeyGroups::OccurrencesOf(size_t group) const {
  if (begin_.empty()) return absl::MakeConstSpan(&occurrences_[group], 1);
  return absl::MakeConstSpan(occurrences_)
      .subspan(begin_[group], begin_[group + 1] - begin_[group]);
}

uint32_t KeyGroups::GradientsWith(size_t group) const {
  uint32_t count = 0;
  const Occurrence* before = nullptr;
  for (const Occurrence& occurrence : OccurrencesOf(group)) {
    const bool first = before == nullptr || before->gradient != occurrence.gradient;
    const PackedCounts& counts = gradients_[occurrence.gradient].counts;
    const uint32_t stands_for = counts.empty() ? 1 : counts[occurrence.position];
    count += first && RowWeight(occurrence) != 0 ? stands_for : 0;
    before = &occurrence;
  }
  return count;
}

const void* KeyGroups::Sum(size_t group, const float* weights, size_t dim,
                           const UpdateContext& context) {
  absl::Span<const Occurrence> rest = OccurrencesOf(group);
  bool first = true;
  sum_.resize(dim);
  within_.resize(dim);
  while (!rest.empty()) {
    const RowGradients& gradient = gradients_[rest[0].gradient];
    size_t same = 1;
    while (same < rest.size() && rest[same].gradient == rest[0].gradient) ++same;
    const float weight = gradient.weight * RowWeight(rest[0]);
    if (RowWeight(rest[0]) == 0) {
      rest.remove_prefix(same);
      continue;
    }
    const void* values = SumWithin(rest.first(same), dim);
    if (context.compensate_lambda != 0 && !gradient.pulled.empty()) {
      Compensate({.gradient = values,
                  .pulled = gradient.pulled.at(rest[0].position * dim),
                  .now = weights,
                  .lambda = context.compensate_lambda},
                 within_.data(), dim);
      values = within_.data();
    }
    rest.remove_prefix(same);
    if (first && rest.empty() && weight == 1 && context.scale == 1) return values;
    if (first) {
      Scale(weight, values, sum_.data(), dim);
    } else {
      AddScaled(weight, values, sum_.data(), dim);
    }
    first = false;
  }
  if (context.scale != 1) Scale(context.scale, sum_.data(), sum_.data(), dim);
  return sum_.data();
}

// Returns the sum of a key's rows in one gradient; the gradient's own values if the key occurs
// once.
const void* KeyGroups::SumWithin(absl::Span<const Occurrence> same_gradient, size_t dim) {
  const PackedFloats& values = gradients_[same_gradient[0].gradient].values;
  const void* first = values.at(same_gradient[0].position * dim);
  if (same_gradient.size() == 1) return first;
  Scale(1, first, within_.data(), dim);
  for (const Occurrence& occurrence : same_gradient.subspan(1)) {
    AddScaled(1, values.at(occurrence.position * dim), within_.data(), dim);
  }
  return within_.data();
}

}  // namespace capstan
