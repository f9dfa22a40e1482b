#include "capstan/data/parquet/record_columns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/data/formats/quote.h"

namespace capstan::parquet {
namespace {

std::string NameOf(const WantedColumn& wanted) {
  return wanted.name.empty() ? absl::StrCat("column ", wanted.column)
                             : absl::StrCat("column ", Quote(wanted.name));
}

absl::StatusOr<uint32_t> FindByName(const WantedColumn& wanted, const ParquetFile& file) {
  const std::vector<Column>& columns = file.metadata.columns;
  const auto named = [&wanted](const Column& column) { return column.name == wanted.name; };
  const auto found = std::find_if(columns.begin(), columns.end(), named);
  if (found == columns.end()) {
    return absl::InvalidArgumentError(absl::StrCat(file.info.path, ": has no ", NameOf(wanted),
                                                   ", which the first training file has"));
  }
  if (std::find_if(found + 1, columns.end(), named) != columns.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.info.path, ": two columns are named ", Quote(wanted.name)));
  }
  return static_cast<uint32_t>(found - columns.begin());
}

absl::StatusOr<uint32_t> FindByCount(const WantedColumn& wanted, bool lacks_labels,
                                     const v1::DataSpec& data, const ParquetFile& file) {
  uint32_t place = wanted.column;
  for (const v1::LabelSpec& label : LabelsOf(data)) {
    if (lacks_labels && wanted.column > label.column()) --place;
  }
  if (place < file.metadata.columns.size()) return place;
  return absl::InvalidArgumentError(absl::StrCat(file.info.path, ": has ",
                                                 file.metadata.columns.size(), " columns, and no ",
                                                 NameOf(wanted), " (they are counted from 0)"));
}

}  // namespace

std::vector<WantedColumn> WantedColumns(const v1::DataSpec& data, const LabelRule& labels,
                                        const Vocabularies& vocabularies) {
  std::vector<WantedColumn> wanted;
  size_t features = 0;
  if (!labels.ignored()) {
    size_t count = 0;
    for (const v1::LabelSpec& spec : LabelsOf(data)) {
      wanted.push_back({.column = spec.column(),
                        .name = spec.column_name(),
                        .rule = CellRule::Label(labels.Of(spec)),
                        .place = count++});
    }
  }
  if (data.has_weight() && !labels.ignored()) {
    wanted.push_back({.column = data.weight().column(),
                      .name = data.weight().name(),
                      .rule = CellRule::Weight()});
  }
  if (data.has_group() && !labels.ignored()) {
    wanted.push_back(
        {.column = data.group().column(), .name = data.group().name(), .rule = CellRule::Group()});
  }
  for (const v1::ColumnSpec& spec : data.numeric()) {
    wanted.push_back({.column = spec.column(),
                      .name = spec.name(),
                      .rule = CellRule::Numeric(spec, data.numeric_scale())});
  }
  for (const v1::ColumnSpec& spec : data.categorical()) {
    wanted.push_back(
        {.column = spec.column(), .name = spec.name(), .rule = CellRule::Category(spec.column())});
  }
  for (const v1::FeatureSpec& spec : data.features()) {
    FeatureRule rule(spec, vocabularies.empty() ? nullptr : vocabularies[features]);
    wanted.push_back({.column = spec.column(),
                      .name = spec.column_name(),
                      .rule = CellRule::Feature(std::move(rule)),
                      .place = features});
    if (spec.has_weights()) {
      wanted.push_back({.column = spec.weights().column(),
                        .name = spec.weights().name(),
                        .rule = CellRule::BagWeights(BagWeightRule(spec)),
                        .place = features});
    }
    ++features;
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const WantedColumn& a, const WantedColumn& b) {
    return a.column < b.column;
  });
  size_t keys = 0;
  size_t numbers = 0;
  for (WantedColumn& column : wanted) {
    const CellRule& rule = column.rule;
    if (rule.is_label() || rule.is_weight() || rule.is_group() || rule.is_bag()) continue;
    column.place = rule.gives_key() ? keys++ : numbers++;
  }
  return wanted;
}

absl::StatusOr<std::vector<uint32_t>> FindColumns(const std::vector<WantedColumn>& wanted,
                                                  const v1::DataSpec& data, bool labels_ignored,
                                                  const ParquetFile& file) {
  const bool lacks_labels =
      labels_ignored && file.metadata.columns.size() + LabelCountOf(data) == data.columns();
  std::vector<uint32_t> places;
  for (const WantedColumn& column : wanted) {
    CAPSTAN_ASSIGN_OR_RETURN(const uint32_t place,
                             column.name.empty() ? FindByCount(column, lacks_labels, data, file)
                                                 : FindByName(column, file));
    const Column& found = file.metadata.columns[place];
    const std::string why_not = column.rule.WhyNot(found);
    if (!why_not.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.info.path, ": column ", Quote(found.name), " ", why_not));
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace capstan::parquet
