#include "capstan/data/parquet/cell_rule.h"

#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/field_key.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/weights.h"
#include "capstan/data/parquet/cell_text.h"

namespace capstan::parquet {
namespace {

// Calls `take` with each of the values [begin, end), in the type that the column's schema
// determines.
template <typename Take>
void ForEachCell(const Column& column, const Values& values, size_t begin, size_t end, Take take) {
  for (size_t i = begin; i < end; ++i) {
    switch (column.physical) {
      case Physical::kBoolean:
        take(values.integers[i] != 0);
        break;
      case Physical::kFloat:
        take(values.floats[i]);
        break;
      case Physical::kDouble:
        take(values.doubles[i]);
        break;
      case Physical::kByteArray:
      case Physical::kFixed:
        take(values.texts[i]);
        break;
      default:
        if (column.is_unsigned) {
          take(static_cast<uint64_t>(values.integers[i]));
        } else {
          take(values.integers[i]);
        }
    }
  }
}

// Returns true if a cell of a column of weights is empty. A NaN in a list is an invalid weight.
template <typename Cell>
bool HasNoWeight(const Column& column, Cell cell) {
  return !column.list && IsMissing(cell);
}

}  // namespace

CellRule CellRule::Label(LabelRule labels) {
  CellRule rule;
  rule.use_ = Use::kLabel;
  rule.labels_ = std::move(labels);
  return rule;
}

CellRule CellRule::Weight() {
  CellRule rule;
  rule.use_ = Use::kWeight;
  return rule;
}

CellRule CellRule::Group() {
  CellRule rule;
  rule.is_group_ = true;
  return rule;
}

CellRule CellRule::Numeric(const v1::ColumnSpec& spec, float scale) {
  CellRule rule;
  rule.number_.emplace(spec, scale);
  rule.use_ = rule.number_->buckets() ? Use::kBucket : Use::kNumber;
  return rule;
}

CellRule CellRule::Category(uint32_t column) {
  CellRule rule;
  rule.salt_ = ColumnSalt(column);
  return rule;
}

CellRule CellRule::Feature(FeatureRule feature) {
  CellRule rule;
  rule.use_ = Use::kFeature;
  rule.feature_ = std::move(feature);
  return rule;
}

CellRule CellRule::BagWeights(BagWeightRule weights) {
  CellRule rule;
  rule.use_ = Use::kBagWeights;
  rule.bag_weights_ = std::move(weights);
  return rule;
}

std::string CellRule::WhyNot(const Column& column) const {
  if (!column.unreadable.empty()) return column.unreadable;
  if (bag_weights_) return "";
  if (column.list && use_ != Use::kFeature) {
    return "is a list; supported are plain columns here, and lists as data.features";
  }
  if (column.list && !feature_->many()) {
    return absl::StrCat("is a list, and data.features.", feature_->name(),
                        " says one value: many: "
                        "true takes all of them");
  }
  const bool fraction = column.physical == Physical::kFloat || column.physical == Physical::kDouble;
  if (!fraction) return "";
  const absl::string_view type = AbslView(PhysicalName(column.physical));
  if (use_ == Use::kCategory || use_ == Use::kFeature) {
    return absl::StrCat("is ", type, ", and ",
                        is_group_ ? "the name of a group" : "a categorical value",
                        " must be an integer, a text or a boolean, as "
                        "fractions have more than one text; store it as integers or text (pandas: "
                        "astype(\"Int64\"), which has room for missing values)");
  }
  if (is_label() && labels_->texts()) {
    return absl::StrCat("is ", type,
                        ", and data.schema says that labels are texts; store it as integers or "
                        "text");
  }
  return "";
}

template <typename Cell>
bool CellRule::ConvertOne(Cell cell, Output& output) const {
  if (IsMissing(cell)) return ConvertEmpty(output);
  if (use_ == Use::kLabel) return ConvertLabel(cell, output);
  if (use_ == Use::kWeight) return ConvertWeight(cell, output);
  if (use_ != Use::kCategory) return ConvertNumber(cell, output);
  output.key = HashText(CellText(cell).view()) ^ salt_;
  return true;
}

template <typename Cell>
bool CellRule::ConvertLabel(Cell cell, Output& output) const {
  float number = 0;
  if (labels_->texts() || std::is_same_v<Cell, std::string_view> || !NearestFloat(cell, number)) {
    return labels_->Parse(CellText(cell).view(), output.number, output.error);
  }
  return labels_->Admit(number, output.number, output.error);
}

template <typename Cell>
bool CellRule::ConvertWeight(Cell cell, Output& output) const {
  if (!NearestFloat(cell, output.number)) output.number = std::numeric_limits<float>::quiet_NaN();
  return AdmitWeight(output.number, CellText(cell).view(), output.error);
}

template <typename Cell>
bool CellRule::ConvertNumber(Cell cell, Output& output) const {
  float number = 0;
  if (!NearestFloat(cell, number)) {
    output.error = absl::StrCat(Quote(CellText(cell).view()), " is not a number");
    return false;
  }
  if (use_ == Use::kBucket) {
    output.key = number_->Key(number);
  } else {
    output.number = number_->Number(number);
  }
  return true;
}

bool CellRule::ConvertEmpty(Output& output) const {
  if (use_ == Use::kLabel) return labels_->Parse("", output.number, output.error);
  if (use_ == Use::kWeight) return ParseWeight("", output.number, output.error);
  if (use_ == Use::kCategory) output.key = HashText("") ^ salt_;
  if (use_ == Use::kBucket) output.key = number_->missing_key();
  if (use_ == Use::kNumber) output.number = number_->missing_number();
  return true;
}

void CellRule::Append(bool good, const Output& output, Converted& converted) const {
  converted.bad.push_back(good ? 0 : 1);
  if (gives_key()) {
    converted.keys.push_back(output.key);
  } else {
    converted.numbers.push_back(output.number);
  }
}

template <typename Cell>
bool CellRule::AppendKeys(const Column& column, Cell cell, std::vector<uint64_t>& keys,
                          std::string& error) const {
  const CellText text(cell);
  return column.list ? feature_->AppendOne(text.view(), keys, error)
                     : feature_->Append(text.view(), keys, error);
}

void CellRule::ConvertFeature(const Column& column, const Values& values,
                              Converted& converted) const {
  std::string error;
  ForEachCell(column, values, 0, values.size(), [&](auto cell) {
    const size_t before = converted.keys.size();
    const bool good = AppendKeys(column, cell, converted.keys, error);
    if (!good) converted.keys.resize(before);
    converted.ends.push_back(static_cast<uint32_t>(converted.keys.size()));
    converted.bad.push_back(good ? 0 : 1);
    if (!feature_->weighted()) return;
    converted.counts.push_back(column.list ? 1 : feature_->CountOf(CellText(cell).view()));
  });
}

template <typename Cell>
bool CellRule::AppendWeights(const Column& column, Cell cell, std::vector<float>& weights,
                             std::string& error) const {
  const CellText text(cell);
  if (std::is_same_v<Cell, std::string_view> && !column.list) {
    return bag_weights_->Append(text.view(), weights, error);
  }
  if (HasNoWeight(column, cell)) return true;
  float weight = 0;
  if (!NearestFloat(cell, weight)) weight = std::numeric_limits<float>::quiet_NaN();
  weights.push_back(weight);
  return bag_weights_->Admit(weight, text.view(), error);
}

void CellRule::ConvertBagWeights(const Column& column, const Values& values,
                                 Converted& converted) const {
  std::string error;
  ForEachCell(column, values, 0, values.size(), [&](auto cell) {
    const bool good = AppendWeights(column, cell, converted.numbers, error);
    converted.ends.push_back(static_cast<uint32_t>(converted.numbers.size()));
    converted.bad.push_back(good ? 0 : 1);
    const bool text = std::is_same_v<decltype(cell), std::string_view> && !column.list;
    const uint32_t numbers = HasNoWeight(column, cell) ? 0 : 1;
    converted.counts.push_back(text ? bag_weights_->CountOf(CellText(cell).view()) : numbers);
  });
}

void CellRule::Convert(const Column& column, const Values& values, Converted& converted) const {
  converted = {};
  if (feature_) return ConvertFeature(column, values, converted);
  if (bag_weights_) return ConvertBagWeights(column, values, converted);
  ForEachCell(column, values, 0, values.size(), [&](auto cell) {
    Output output;
    const bool good = ConvertOne(cell, output);
    Append(good, output, converted);
  });
}

void CellRule::ConvertMissing(Converted& converted) const {
  converted = {};
  Output output;
  if (feature_) {
    const bool known = feature_->Append("", converted.keys, output.error);
    converted.ends.push_back(static_cast<uint32_t>(converted.keys.size()));
    converted.bad.push_back(known ? 0 : 1);
    converted.counts.push_back(0);
    return;
  }
  if (bag_weights_) {  // An empty cell has no weights.
    converted = {.numbers = {}, .keys = {}, .ends = {0}, .counts = {0}, .bad = {0}};
    return;
  }
  const bool good = ConvertEmpty(output);
  Append(good, output, converted);
}

std::string CellRule::Error(const Column& column, const Values& values, size_t value) const {
  Output output;
  std::vector<uint64_t> keys;
  std::vector<float> weights;
  ForEachCell(column, values, value, value + 1, [&](auto cell) {
    if (feature_) {
      (void)AppendKeys(column, cell, keys, output.error);
    } else if (bag_weights_) {
      (void)AppendWeights(column, cell, weights, output.error);
    } else {
      ConvertOne(cell, output);
    }
  });
  return output.error;
}

std::string CellRule::MissingError() const {
  Output output;
  std::vector<uint64_t> keys;
  if (feature_) {
    (void)feature_->Append("", keys, output.error);
  } else {
    ConvertEmpty(output);
  }
  return output.error;
}

}  // namespace capstan::parquet
