// The weights of a feature's values, row by row, while neither they nor the values are read whole.
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

// The weights of the rows that a reader has in hand. The column of the weights and that of their
// values come one after the other. Thread-compatible.
class WeightRows {
 public:
  // Adds weights to the present row.
  void Add(std::span<const float> weights) {
    weights_.insert(weights_.end(), weights.begin(), weights.end());
  }
  // Ends a row, which has so many weights, also beyond those that count.
  void EndWeights(uint32_t count) { rows_.push_back({weights_.size(), count}); }
  // Ends the row of its values, of which it has so many.
  void EndValues(uint32_t count) { values_.push_back(count); }

  // What is wrong with a row; empty: nothing. REQUIRES: both columns are read.
  std::string WhyNot(const BagWeightRule& rule, uint64_t row) const {
    return rule.WhyNot(rows_[row].count, values_[row]);
  }
  // Adds the weights of a row to its bag's.
  void AppendTo(uint64_t row, Bags& bags) const {
    const auto begin = static_cast<ptrdiff_t>(row == 0 ? 0 : rows_[row - 1].end);
    bags.weights.insert(bags.weights.end(), weights_.begin() + begin,
                        weights_.begin() + static_cast<ptrdiff_t>(rows_[row].end));
  }

 private:
  struct Row {
    size_t end;  // Where its weights end in `weights_`.
    uint32_t count;
  };
  std::vector<float> weights_;
  std::vector<Row> rows_;
  std::vector<uint32_t> values_;  // How many each row has.
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_WEIGHT_ROWS_H_
