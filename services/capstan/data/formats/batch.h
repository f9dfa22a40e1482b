// The records on which a step trains, as columns. Every format is read into this form.
#ifndef CAPSTAN_DATA_FORMATS_BATCH_H_
#define CAPSTAN_DATA_FORMATS_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace capstan {

// The keys of one feature in data.features: example e has the keys [offsets[e], offsets[e + 1]).
struct Bags {
  std::vector<uint32_t> offsets = {0};  // examples + 1.
  std::vector<uint64_t> keys;
  std::vector<float> weights;  // The factor of each key's row; empty if all are 1.

  std::span<const uint64_t> KeysOf(size_t example) const {
    return std::span(keys).subspan(offsets[example], offsets[example + 1] - offsets[example]);
  }
  // Returns the size in bytes of the content.
  uint64_t bytes() const {
    return offsets.size() * sizeof(uint32_t) + keys.size() * sizeof(uint64_t) +
           weights.size() * sizeof(float);
  }
  friend bool operator==(const Bags&, const Bags&) = default;
};

// Keys of one feature in data.features that are drawn for the whole batch, in addition to those of
// its records.
struct Negatives {
  size_t feature = 0;  // The index of the feature in data.features.
  std::vector<uint64_t> keys;
  std::vector<float> log_shares;  // For each key the logarithm of its share in all draws.
  // If an example has at most one key of the feature: for each example the logarithm of the share
  // of its own key, or the share of the rarest candidate if it has no key or one that is never
  // drawn. Otherwise empty.
  std::vector<float> record_log_shares;

  friend bool operator==(const Negatives&, const Negatives&) = default;
};

// A value type; thread-compatible. Example e has the keys [offsets[e], offsets[e + 1]) of `keys`.
struct Batch {
  std::vector<float> labels;   // examples x label_count, row-major
  std::vector<float> weights;  // examples; empty: all are 1.
  // examples: the hash of each example's group; empty if groups are not read.
  std::vector<uint64_t> groups;
  std::vector<uint32_t> offsets;  // examples + 1; offsets[0] == 0
  std::vector<uint64_t> keys;     // For csv, tsv: in the order of the columns in the file.
  std::vector<float> values;      // One per key; empty if all are 1.
  std::vector<float> dense;       // examples x dense_width, row-major
  uint32_t dense_width = 0;
  uint32_t label_count = 1;
  std::vector<Bags> features;  // One for each of data.features, in their order.
  Negatives negatives;         // Has no keys if none are drawn.
  uint64_t first_record = 0;   // The index of example 0 in the task's order of records.

  size_t examples() const { return labels.size() / label_count; }
  // Returns the size in bytes of the records, without the negatives, of which a batch has few.
  uint64_t bytes() const {
    const size_t floats = labels.size() + weights.size() + values.size() + dense.size();
    uint64_t sum = floats * sizeof(float) + offsets.size() * sizeof(uint32_t) +
                   (groups.size() + keys.size()) * sizeof(uint64_t);
    for (const Bags& bags : features) sum += bags.bytes();
    return sum;
  }
  // Releases unused capacity of columns that have more than half of their size in reserve. For
  // records that are kept and grow no more.
  void GiveBackRoom() {
    const auto give_back = [](auto& column) {
      if (column.capacity() - column.size() > column.size() / 2) column.shrink_to_fit();
    };
    for (std::vector<float>* column : {&labels, &weights, &values, &dense}) give_back(*column);
    for (std::vector<uint64_t>* column : {&groups, &keys}) give_back(*column);
    give_back(offsets);
    for (Bags& bags : features) {
      give_back(bags.offsets);
      give_back(bags.keys);
      give_back(bags.weights);
    }
  }
  // Returns the mean of the examples' weights; 1 if all weights are 0.
  double MeanWeight() const {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    return sum > 0 ? sum / static_cast<double>(weights.size()) : 1;
  }
  std::span<const uint64_t> KeysOf(size_t example) const {
    return std::span(keys).subspan(offsets[example], offsets[example + 1] - offsets[example]);
  }
  std::span<const float> LabelsOf(size_t example) const {
    return std::span(labels).subspan(example * label_count, label_count);
  }
  std::span<const float> DenseOf(size_t example) const {
    return std::span(dense).subspan(example * dense_width, dense_width);
  }
  friend bool operator==(const Batch&, const Batch&) = default;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_BATCH_H_
