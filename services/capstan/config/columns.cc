#include "capstan/config/columns.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace capstan {
namespace {

using Kind = YamlNode::Kind;

constexpr absl::string_view kColumnsText =
    "columns such as 3 or \"1-13,15\", counted from 0, or names of columns with "
    "data.header: true or format: parquet";

std::optional<uint32_t> ParseColumn(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  uint32_t column = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), column);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (column >= kMaxColumns) return std::nullopt;
  return column;
}

void AppendColumns(Section& in, absl::string_view key, const YamlNode& node, bool names,
                   std::vector<v1::ColumnSpec>& columns) {
  const auto parsed = node.kind == Kind::kScalar ? ParseColumns(node.text) : std::nullopt;
  if (!parsed && names && node.kind == Kind::kScalar && !node.text.empty()) {
    columns.emplace_back().set_name(std::string(absl::StripAsciiWhitespace(node.text)));
    return;
  }
  if (!parsed) in.RefuseValue(key, node, kColumnsText);
  for (const uint32_t column : parsed.value_or(std::vector<uint32_t>())) {
    columns.emplace_back().set_column(column);
  }
}

// Reads the key for the file that has the mean and deviation of each of these columns.
void ReadMeasuresFile(Section& in, v1::ColumnSpec& spec) {
  spec.set_file(in.Text("file"));
  if (!in.Has("file")) return;
  if (spec.transform() != v1::NUMERIC_TRANSFORM_STANDARD) {
    in.Refuse("file", "is only for a transform: standard");
  }
  if (in.Has("mean") || in.Has("deviation")) {
    in.Refuse("file", "cannot stand beside mean and deviation, which say the same");
  }
  if (spec.file().empty()) {
    in.Refuse("file", "is empty; expected a file with a column, its mean and its deviation a line");
  }
}

// {columns: "1-13", transform: bucket, boundaries: [1, 10], missing: 0}
void AppendTransformed(Section& in, const ColumnRules& rules,
                       std::vector<v1::ColumnSpec>& columns) {
  std::vector<v1::ColumnSpec> added;
  for (const YamlNode* node : in.Scalars("columns", kColumnsText)) {
    AppendColumns(in, "columns", *node, rules.names, added);
  }
  if (!in.Has("columns")) in.Refuse("columns", absl::StrCat("is missing; expected ", kColumnsText));
  v1::ColumnSpec spec;
  spec.set_transform(in.OneOf<v1::NumericTransform>("transform"));
  spec.set_missing(static_cast<float>(in.Number("missing")));
  const std::vector<double> boundaries = in.Numbers("boundaries");
  spec.mutable_boundaries()->Add(boundaries.begin(), boundaries.end());
  const bool bucket = spec.transform() == v1::NUMERIC_TRANSFORM_BUCKET;
  if (bucket && rules.features) {
    in.Refuse(
        "transform",
        "bucket makes keys, and where there are data.features, they alone have keys; expected "
        "none, log or standard, or one of data.features that is made of the column");
  }
  if (bucket == boundaries.empty()) {
    in.Refuse("boundaries", bucket ? "is missing: transform: bucket needs them"
                                   : "is only for transform: bucket");
  }
  if (!std::is_sorted(boundaries.begin(), boundaries.end(), std::less_equal<>())) {
    in.Refuse("boundaries", "must ascend");
  }
  const Measures measures =
      ReadMeasures(in, "", spec.transform() == v1::NUMERIC_TRANSFORM_STANDARD);
  spec.set_mean(measures.mean);
  spec.set_deviation(measures.deviation);
  ReadMeasuresFile(in, spec);
  for (v1::ColumnSpec& column : added) {
    spec.set_column(column.column());
    spec.set_name(column.name());
    columns.push_back(spec);
  }
}

}  // namespace

std::optional<std::vector<uint32_t>> ParseColumns(absl::string_view text) {
  std::vector<uint32_t> columns;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    const std::optional<uint32_t> first = ParseColumn(ends.front());
    const std::optional<uint32_t> last = ParseColumn(ends.back());
    if (!first || !last || *first > *last) return std::nullopt;
    if (columns.size() + (*last - *first) >= kMaxColumns) return std::nullopt;
    for (uint32_t column = *first; column <= *last; ++column) columns.push_back(column);
  }
  return columns;
}

std::vector<v1::ColumnSpec> ReadColumns(Section& in, absl::string_view key, ColumnRules rules) {
  std::vector<v1::ColumnSpec> columns;
  const auto append = [&](const YamlNode& node) {
    AppendColumns(in, key, node, rules.names, columns);
  };
  if (!rules.transforms) {
    for (const YamlNode* node : in.Scalars(key, kColumnsText)) append(*node);
    return columns;
  }
  in.ForEach(
      key, [&](Section& item) { AppendTransformed(item, rules, columns); }, append);
  return columns;
}

Measures ReadMeasures(Section& in, absl::string_view prefix, bool standard) {
  const std::string mean = absl::StrCat(prefix, "mean");
  const std::string deviation = absl::StrCat(prefix, "deviation");
  const Measures measures = {.mean = in.Number(mean), .deviation = in.Number(deviation)};
  for (const auto& [given, other] : {std::pair(mean, deviation), std::pair(deviation, mean)}) {
    if (!in.Has(given)) continue;
    if (!standard) in.Refuse(given, "is only for a transform: standard");
    if (standard && !in.Has(other)) in.Refuse(other, absl::StrCat("is missing beside ", given));
  }
  return measures;
}

}  // namespace capstan
