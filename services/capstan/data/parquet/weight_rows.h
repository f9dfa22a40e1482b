// Keeps the weights of a feature's values row by row, until both the column of weights and that of
// values were read.
#ifndef CAPSTAN_DATA_PARQUET_WEIGHT_ROWS_H_
#define CAPSTAN_DATA_PARQUET_WEIGHT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capstan/data/formats/bag_weights.h"
#include "capstan/data/formats/batch.h"

namespace capstan::parquet {

// The weights and the numbers of values of the rows that are being read; the two columns may be
// read in either order. Thread-compatible.
class WeightRows {
 public:
  // Appends weights to the present row.
  void Add(std::span<const float> weights) {
    weights_.insert(weights_.end(), weights.begin(), weights.end());
  }
  // Ends the present row of weights, which has `count` weights, including those beyond `most`.
  void EndWeights(uint32_t count) { rows_.push_back({weights_.size(), count}); }
  // Ends the present row of values, which has `count` values.
  void EndValues(uint32_t count) { values_.push_back(count); }

  // Returns what is wrong with a row; empty if nothing is. REQUIRES: both columns were read.
  std::string WhyNot(const BagWeightRule& rule, uint64_t row) const {
    return rule.WhyNot(rows_[row].count, values_[row]);
  }
  // Appends the weights of a row to `bags`.
  void AppendTo(uint64_t row, Bags& bags) const {
    const auto begin = static_cast<ptrdiff_t>(row == 0 ? 0 : rows_[row - 1].end);
    bags.weights.insert(bags.weights.end(), weights_.begin() + begin,
                        weights_.begin() + static_cast<ptrdiff_t>(rows_[row].end));
  }

 private:
  struct Row {
    size_t end;  // Where the row's weights end in `weights_`.
    uint32_t count;
  };
  std::vector<float> weights_;
  std::vector<Row> rows_;
  std::vector<uint32_t> values_;  // The number of values of each row.
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_WEIGHT_ROWS_H_
