// Converts the cells of a column to labels, weights, groups, numbers or keys, or to the keys of a
// feature or the weights of these.
#ifndef CAPSTAN_DATA_PARQUET_CELL_RULE_H_
#define CAPSTAN_DATA_PARQUET_CELL_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/data/formats/bag_weights.h"
#include "capstan/data/formats/feature_rule.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/number_rule.h"
#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/values.h"
#include "capstan/v1/job.pb.h"

namespace capstan::parquet {

// The results of converting values, one by one: `numbers` for labels, weights and numeric columns,
// otherwise `keys`, where the key of a group is its hash.
struct Converted {
  std::vector<float> numbers;
  std::vector<uint64_t> keys;
  // For a feature: where the keys of each value end in `keys`. For the weights of a feature: where
  // the weights of each value end in `numbers`.
  std::vector<uint32_t> ends;
  // For features with weights, and for these weights: how many keys or weights each value has,
  // including those beyond `most`.
  std::vector<uint32_t> counts;
  std::vector<uint8_t> bad;  // 1 if the value cannot be converted.
};

// How the cells of one column are converted. A cell has the same result as its text would have in a
// csv. Immutable.
class CellRule {
 public:
  static CellRule Label(LabelRule labels);
  static CellRule Weight();
  static CellRule Group();  // As Category, but without a salt for the column.
  static CellRule Numeric(const v1::ColumnSpec& spec, float scale);
  static CellRule Category(uint32_t column);
  static CellRule Feature(FeatureRule feature);
  static CellRule BagWeights(BagWeightRule weights);  // The weights of a feature's values.

  bool is_label() const { return use_ == Use::kLabel; }
  bool is_weight() const { return use_ == Use::kWeight; }
  bool is_group() const { return is_group_; }
  // How a feature's column is read; null if the column is not that of a feature.
  const FeatureRule* feature() const { return feature_ ? &*feature_ : nullptr; }
  // How the weights of a feature are read; null if the column does not contain such weights.
  const BagWeightRule* bag_weights() const { return bag_weights_ ? &*bag_weights_ : nullptr; }
  // True if a cell yields any number of keys or weights, of which the first `most` count.
  bool is_bag() const { return feature_ || bag_weights_; }
  uint32_t most() const { return feature_ ? feature_->most() : bag_weights_->most(); }
  bool gives_key() const { return use_ == Use::kBucket || use_ == Use::kCategory; }

  // Returns why a column of this type cannot be converted in this way; empty if it can.
  std::string WhyNot(const Column& column) const;

  // Replaces `converted` by the conversion of `values`, which are of `column`.
  void Convert(const Column& column, const Values& values, Converted& converted) const;

  // Replaces `converted` by the conversion of one empty cell.
  void ConvertMissing(Converted& converted) const;

  // Describes what is wrong with `values` at the index `value`, which Convert has marked bad.
  std::string Error(const Column& column, const Values& values, size_t value) const;
  std::string MissingError() const;

 private:
  enum class Use { kLabel, kWeight, kNumber, kBucket, kCategory, kFeature, kBagWeights };
  struct Output {
    float number = 0;
    uint64_t key = 0;
    std::string error = {};
  };

  template <typename Cell>
  bool ConvertOne(Cell cell, Output& output) const;
  template <typename Cell>
  bool ConvertLabel(Cell cell, Output& output) const;
  template <typename Cell>
  bool ConvertWeight(Cell cell, Output& output) const;
  template <typename Cell>
  bool ConvertNumber(Cell cell, Output& output) const;
  bool ConvertEmpty(Output& output) const;
  // Appends the keys of one value of a feature.
  template <typename Cell>
  bool AppendKeys(const Column& column, Cell cell, std::vector<uint64_t>& keys,
                  std::string& error) const;
  // Appends the weights in one value of a column of weights.
  template <typename Cell>
  bool AppendWeights(const Column& column, Cell cell, std::vector<float>& weights,
                     std::string& error) const;
  void ConvertFeature(const Column& column, const Values& values, Converted& converted) const;
  void ConvertBagWeights(const Column& column, const Values& values, Converted& converted) const;
  void Append(bool good, const Output& output, Converted& converted) const;

  Use use_ = Use::kCategory;
  bool is_group_ = false;
  uint64_t salt_ = 0;
  std::optional<LabelRule> labels_;
  std::optional<NumberRule> number_;
  std::optional<FeatureRule> feature_;
  std::optional<BagWeightRule> bag_weights_;
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_CELL_RULE_H_
