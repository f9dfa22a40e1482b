// The sum of several gradients, row by row: which keys occur in them, and for each key the weighted
// sum of its gradients.
#ifndef CAPSTAN_STORE_GRADIENT_SUM_H_
#define CAPSTAN_STORE_GRADIENT_SUM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "capstan/consistency/staleness.h"
#include "capstan/store/update.h"

namespace capstan {

// The distinct keys of some gradients, in the order of their first occurrence, and where each
// occurs. Reused for many updates, to keep its memory. Thread-compatible.
class KeyGroups {
 public:
  // Finds the groups. `gradients` must live as long as this object is used.
  void Build(absl::Span<const RowGradients> gradients);

  size_t size() const { return keys_.size(); }
  uint64_t key(size_t group) const { return keys_[group]; }

  // Returns how many gradients contain the key, not counting those that WeighRows has excluded.
  uint32_t GradientsWith(size_t group) const;

  // Gives each row of a gradient with versions the weight weigh(group, pulled version), in addition
  // to the gradient's own weight. A weight of 0 excludes the row of that gradient.
  template <typename Weigh>
  void WeighRows(const Weigh& weigh) {
    row_weights_.assign(occurrences_.size(), 1);
    for (size_t group = 0; group < size(); ++group) {
      const Occurrence* before = nullptr;
      for (const Occurrence& occurrence : OccurrencesOf(group)) {
        const bool first = before == nullptr || before->gradient != occurrence.gradient;
        before = &occurrence;
        const PackedCounts& versions = gradients_[occurrence.gradient].versions;
        if (!first || versions.empty()) continue;
        row_weights_[PlaceOf(occurrence)] =
            weigh(group, static_cast<RowVersion>(versions[occurrence.position]));
      }
    }
  }

  // Returns the update of a row. Within a gradient the values of duplicate keys are added; the
  // result is compensated for delay (if the gradient has `pulled`), weighted, and added to the
  // results of the gradients before it. The sum is multiplied by the context's scale. `weights`:
  // the row's present weights. The result, `dim` float32s at any alignment, is valid until the next
  // call.
  const void* Sum(size_t group, const float* weights, size_t dim, const UpdateContext& context);

 private:
  struct Occurrence {
    uint32_t gradient;
    uint32_t position;
  };

  uint32_t GroupOf(uint64_t key);
  void SortIntoGroups();
  absl::Span<const Occurrence> OccurrencesOf(size_t group) const;
  size_t PlaceOf(const Occurrence& occurrence) const {
    return static_cast<size_t>(&occurrence - occurrences_.data());
  }
  // Returns the weight of a row of a gradient, given the first occurrence of its key there: all
  // occurrences in one gradient come from one pull of the row.
  float RowWeight(const Occurrence& first) const {
    return row_weights_.empty() ? 1 : row_weights_[PlaceOf(first)];
  }
  const void* SumWithin(absl::Span<const Occurrence> same_gradient, size_t dim);

  absl::Span<const RowGradients> gradients_;
  std::vector<uint64_t> keys_;  // By group.
  // In the order of the gradients; sorted by group if any key repeats.
  std::vector<Occurrence> occurrences_;
  // By occurrence, while occurrences_ is in the order of the gradients.
  std::vector<uint32_t> group_of_;
  // By group, with one more at the end; empty if every key occurs once.
  std::vector<uint32_t> begin_;
  // By occurrence, in the order of occurrences_; empty if all are 1.
  std::vector<float> row_weights_;
  std::vector<uint32_t> slots_;  // Open addressing: group + 1, or 0.
  std::vector<float> sum_;
  std::vector<float> within_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_GRADIENT_SUM_H_
