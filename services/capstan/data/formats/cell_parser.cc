#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/config/data_labels.h"
#include "capstan/data/formats/bag_weights.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/feature_rule.h"
#include "capstan/data/formats/field_key.h"
#include "capstan/data/formats/number_rule.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/weights.h"

namespace capstan {
namespace {

enum class Use { kNone, kLabel, kWeight, kNumber, kBucket, kCategory };

struct Column {
  Use use = Use::kNone;
  uint64_t salt = 0;
  uint32_t label = 0;                   // For kLabel: its index among the labels.
  std::optional<NumberRule> rule = {};  // For kNumber and kBucket.
  std::string name = {};                // Empty if the schema identifies it by its number.
  std::vector<size_t> features = {};    // Indexes of the features that are read from the column.
  std::vector<size_t> weighs = {};      // Indexes of the features whose weights it contains.
  bool group = false;                   // The column also names the record's group.
};

// Returns whether a cell is one of the texts that programs write where a number is missing.
bool StandsForNothing(std::string_view cell) {
  const absl::string_view text = absl::StripAsciiWhitespace(AbslView(cell));
  for (const char* const nothing : {"", "na", "n/a", "nan", "null", "none", "\\n", "?", "-"}) {
    if (absl::EqualsIgnoreCase(text, nothing)) return true;
  }
  return false;
}

Column NumericColumn(const v1::ColumnSpec& spec, float scale) {
  NumberRule rule(spec, scale);
  const Use use = rule.buckets() ? Use::kBucket : Use::kNumber;
  return {.use = use, .rule = std::move(rule), .name = spec.name()};
}

class CellParser : public RecordParser {
 public:
  CellParser(const v1::DataSpec& data, const LabelRule& labels, const Vocabularies& vocabularies)
      : labels_(labels), cells_(data.format()) {
    columns_.resize(data.columns());
    for (const v1::ColumnSpec& spec : data.numeric()) {
      Put(spec.column(), NumericColumn(spec, data.numeric_scale()));
    }
    for (const v1::ColumnSpec& spec : data.categorical()) {
      Put(spec.column(),
          {.use = Use::kCategory, .salt = ColumnSalt(spec.column()), .name = spec.name()});
    }
    for (const v1::LabelSpec& spec : LabelsOf(data)) {
      Put(spec.column(), {.use = Use::kLabel, .label = label_count_++, .name = spec.column_name()});
      label_rules_.push_back(labels.Of(spec));
    }
    if (data.has_weight() && !labels_.ignored()) {
      Put(data.weight().column(), {.use = Use::kWeight, .name = data.weight().name()});
    }
    for (const v1::FeatureSpec& spec : data.features()) AddFeature(spec, vocabularies);
    if (data.has_group() && !labels_.ignored() && data.group().column() < columns_.size()) {
      columns_[data.group().column()].group = true;
      if (!data.group().name().empty()) columns_[data.group().column()].name = data.group().name();
    }
    for (const Column& column : columns_) {
      grouped_ = grouped_ || column.group;
      weighted_ = weighted_ || column.use == Use::kWeight;
      fields_ += column.use == Use::kCategory || column.use == Use::kBucket;
      numbers_ += column.use == Use::kNumber;
      names_ = names_ || !column.name.empty();
    }
  }

  bool CheckHeader(std::string_view line, std::string& error) override {
    if (!names_) return true;
    const bool lacks_labels = LacksLabels(line);
    if (lacks_labels && NamesALabel(line)) {  // Other columns than labels are missing.
      error = absl::StrCat(CountCells(line), " columns, expected ", columns_.size(),
                           " as in the first training file, those that the job does not use, too");
      return false;
    }
    cells_.Begin(line);
    std::string_view cell;
    for (const Column& column : columns_) {
      if (lacks_labels && column.use == Use::kLabel) continue;
      if (!cells_.Next(cell)) return WrongCount(line, error);
      if (column.name.empty() || Trim(cell) == column.name) continue;
      error = absl::StrCat("column ", &column - columns_.data(), " is named ", Quote(cell),
                           ", expected ", Quote(column.name), " as in the first training file");
      return false;
    }
    return !cells_.Next(cell) || WrongCount(line, error);
  }

  bool Parse(std::string_view line, Batch& records, std::string& error) override {
    const size_t labels = records.labels.size();
    const size_t keys = records.keys.size();
    const size_t dense = records.dense.size();
    records.label_count = label_count_;
    records.labels.resize(labels + label_count_);
    records.keys.resize(keys + fields_);
    records.dense.resize(dense + numbers_);
    records.features.resize(features_.size());
    Judged judged;
    const Places places = {.labels = records.labels.data() + labels,
                           .key = records.keys.data() + keys,
                           .number = records.dense.data() + dense};
    if (!ParseCells(line, records, places, judged, error)) {
      records.labels.resize(labels);
      records.keys.resize(keys);
      records.dense.resize(dense);
      for (Bags& bags : records.features) {
        bags.keys.resize(bags.offsets.back());
        if (!bags.weights.empty()) bags.weights.resize(bags.offsets.back());
      }
      return false;
    }
    if (weighted_) records.weights.push_back(judged.weight);
    if (grouped_) records.groups.push_back(judged.group);
    for (Bags& bags : records.features) {
      bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
    }
    records.offsets.push_back(static_cast<uint32_t>(records.keys.size()));
    return true;
  }

 private:
  struct Judged {
    float weight = 1;
    uint64_t group = 0;
  };
  // Where the values of a line's record are written.
  struct Places {
    float* labels;
    uint64_t* key;
    float* number;
  };

  void Put(uint32_t column, Column what) {
    if (column < columns_.size()) columns_[column] = std::move(what);
  }

  // How a feature is read, and how many values and weights the present line has for it.
  struct Feature {
    FeatureRule rule;
    std::optional<BagWeightRule> weights;
    uint32_t values = 0;  // How many values the present line has.
    uint32_t weight_count = 0;
    uint32_t weights_column = 0;
  };

  void AddFeature(const v1::FeatureSpec& spec, const Vocabularies& vocabularies) {
    const size_t place = features_.size();
    Feature& feature = features_.emplace_back(
        Feature{.rule = FeatureRule(spec, vocabularies.empty() ? nullptr : vocabularies[place])});
    if (spec.column() < columns_.size()) {
      columns_[spec.column()].features.push_back(place);
      columns_[spec.column()].name = spec.column_name();
    }
    if (!spec.has_weights() || spec.weights().column() >= columns_.size()) return;
    feature.weights.emplace(spec);
    feature.weights_column = spec.weights().column();
    weighted_features_.push_back(place);
    columns_[spec.weights().column()].weighs.push_back(place);
    columns_[spec.weights().column()].name = spec.weights().name();
  }

  bool ParseCells(std::string_view line, Batch& records, const Places& places, Judged& judged,
                  std::string& error) {
    uint64_t* key = places.key;
    float* number = places.number;
    const bool lacks_labels = LacksLabels(line);
    cells_.Begin(line);
    std::string_view cell;
    for (const Column& column : columns_) {
      if (lacks_labels && column.use == Use::kLabel) continue;
      if (!cells_.Next(cell)) return WrongCount(line, error);
      if (column.group) judged.group = HashText(cell);
      switch (column.use) {
        case Use::kNone:
          break;
        case Use::kCategory:
          *key++ = HashText(cell) ^ column.salt;
          break;
        case Use::kLabel:
          if (!label_rules_[column.label].Parse(cell, places.labels[column.label], error))
            return AddPlace(column, error);
          break;
        case Use::kWeight:
          if (!ParseWeight(cell, judged.weight, error)) return AddPlace(column, error);
          break;
        case Use::kBucket:
          if (!Bucket(*column.rule, cell, *key++, error)) return AddPlace(column, error);
          break;
        case Use::kNumber:
          if (!Number(*column.rule, cell, *number++, error)) return AddPlace(column, error);
      }
      if (!AppendBags(column, cell, records, error)) return AddPlace(column, error);
    }
    if (cells_.Next(cell)) return WrongCount(line, error);
    if (!CheckBagWeights(error)) return false;
    if (!LacksAllLabels({places.labels, label_count_})) return true;
    error = kNoLabelAtAll;
    return false;
  }

  bool AppendBags(const Column& column, std::string_view cell, Batch& records, std::string& error) {
    for (const size_t place : column.features) {
      Feature& feature = features_[place];
      if (!feature.rule.Append(cell, records.features[place].keys, error)) return false;
      if (feature.weights) feature.values = feature.rule.CountOf(cell);
    }
    for (const size_t place : column.weighs) {
      Feature& feature = features_[place];
      if (!feature.weights->Append(cell, records.features[place].weights, error)) return false;
      feature.weight_count = feature.weights->CountOf(cell);
    }
    return true;
  }

  // Either column may be the first one.
  bool CheckBagWeights(std::string& error) const {
    for (const size_t place : weighted_features_) {
      const Feature& feature = features_[place];
      error = feature.weights->WhyNot(feature.weight_count, feature.values);
      if (!error.empty()) return AddPlace(columns_[feature.weights_column], error);
    }
    return true;
  }

  bool LacksLabels(std::string_view line) {
    return labels_.ignored() && CountCells(line) + label_count_ == columns_.size();
  }

  bool NamesALabel(std::string_view line) {
    std::string_view cell;
    cells_.Begin(line);
    while (cells_.Next(cell)) {
      for (const Column& column : columns_) {
        if (column.use == Use::kLabel && !column.name.empty() && column.name == Trim(cell)) {
          return true;
        }
      }
    }
    return false;
  }

  static bool Number(const NumberRule& rule, std::string_view cell, float& number,
                     std::string& error) {
    number = rule.missing_number();
    if (cell.empty()) return true;
    float value;
    if (!ParseFloat(cell, value)) return NotANumber(cell, error);
    number = rule.Number(value);
    return true;
  }

  static bool Bucket(const NumberRule& rule, std::string_view cell, uint64_t& key,
                     std::string& error) {
    key = rule.missing_key();
    if (cell.empty()) return true;
    float value;
    if (!ParseFloat(cell, value)) return NotANumber(cell, error);
    key = rule.Key(value);
    return true;
  }

  static bool NotANumber(std::string_view cell, std::string& error) {
    error = absl::StrCat(Quote(cell), " is not a number",
                         StandsForNothing(cell) ? "; where one is missing the cell is empty" : "");
    return false;
  }

  bool AddPlace(const Column& column, std::string& error) const {
    const std::string name = column.name.empty() ? "" : absl::StrCat(" (", column.name, ")");
    error = absl::StrCat("column ", &column - columns_.data(), name, ": ", error);
    return false;
  }

  size_t CountCells(std::string_view line) {
    size_t count = 0;
    std::string_view cell;
    cells_.Begin(line);
    while (cells_.Next(cell)) ++count;
    return count;
  }

  bool WrongCount(std::string_view line, std::string& error) {
    const size_t count = CountCells(line);
    error = cells_.malformed()
                ? absl::StrCat("column ", count, ": a quote that does not end with the cell")
                : absl::StrCat(count, " columns, expected ", columns_.size());
    return false;
  }

  const LabelRule labels_;
  std::vector<LabelRule> label_rules_;  // One for each label.
  CellScanner cells_;
  std::vector<Column> columns_;
  std::vector<Feature> features_;
  std::vector<size_t> weighted_features_;
  uint32_t label_count_ = 0;
  size_t fields_ = 0;
  size_t numbers_ = 0;
  bool weighted_ = false;
  bool grouped_ = false;
  bool names_ = false;
};

}  // namespace

std::unique_ptr<RecordParser> NewCellParser(const v1::DataSpec& data, const LabelRule& labels,
                                            const Vocabularies& vocabularies) {
  return std::make_unique<CellParser>(data, labels, vocabularies);
}

}  // namespace capstan
