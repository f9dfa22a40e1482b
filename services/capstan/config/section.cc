#include "capstan/config/section.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/config/quantity.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

using Kind = YamlNode::Kind;

constexpr absl::string_view kCountText = "a whole number such as 5000, 10k or 1M";
constexpr absl::string_view kBytesText = "a size such as 64MiB";
constexpr absl::string_view kSecondsText = "a time such as 250ms, 10s or 5m";
constexpr absl::string_view kNumberText = "a number";

std::string WhatItIs(const YamlNode& node) {
  if (node.kind == Kind::kScalar) return Shown(node.text);
  return std::string(KindName(node));
}

// A number in quotes is text. What has a unit is a text of YAML with quotes and without.
bool IsNumberInQuotes(const YamlNode& node) {
  return node.quoted && ParseDecimal(node.text).has_value();
}

std::string NotExpected(const YamlNode& node, absl::string_view expected) {
  return absl::StrCat(WhatItIs(node), IsNumberInQuotes(node) ? " (in quotes, hence text)" : "",
                      " is not ", expected);
}

std::string RangeText(const NumberRange& range) {
  std::string text = absl::StrCat(range.open ? "above " : "at least ", range.min);
  if (range.max < NumberRange().max) absl::StrAppend(&text, " and at most ", range.max);
  return text;
}

std::string RangeText(const WholeRange& range) {
  if (range.max == WholeRange().max) return absl::StrCat("at least ", range.min);
  return absl::StrCat("from ", range.min, " to ", range.max);
}

bool IsWithin(double value, const NumberRange& range) {
  return (range.open ? value > range.min : value >= range.min) && value <= range.max;
}

}  // namespace

Section::Section(const YamlNode* node, std::string path, Findings& findings)
    : node_(node != nullptr && node->kind == Kind::kMap ? node : nullptr),
      path_(std::move(path)),
      findings_(findings) {
  if (node != nullptr && node->kind != Kind::kMap && node->kind != Kind::kNull) {
    findings_.RefuseAt(node->place, path_, NotExpected(*node, "a map of keys"));
  }
  if (node_ == nullptr) return;
  for (const YamlNode::Entry& entry : node_->entries) {
    const bool first = findings_.Place(PathOf(entry.key), entry.place);
    if (!first) findings_.Refuse(PathOf(entry.key), "is given twice");
  }
}

Section::~Section() {
  if (node_ == nullptr) return;
  const std::vector<absl::string_view> known(asked_.begin(), asked_.end());
  for (const YamlNode::Entry& entry : node_->entries) {
    if (asked_.contains(entry.key)) continue;
    const absl::string_view nearest = Nearest(entry.key, known);
    findings_.Refuse(PathOf(entry.key),
                     nearest.empty()
                         ? absl::StrCat("unknown key; expected one of ", absl::StrJoin(known, ", "))
                         : absl::StrCat("unknown key; did you mean ", nearest, "?"));
  }
}

std::string Section::PathOf(absl::string_view key) const {
  return absl::StrCat(path_, path_.empty() || key.empty() ? "" : ".", key);
}

void Section::Refuse(absl::string_view key, absl::string_view what) {
  findings_.Refuse(PathOf(key), what);
}

void Section::RefuseValue(absl::string_view key, const YamlNode& value,
                          absl::string_view expected) {
  findings_.RefuseAt(value.place, PathOf(key), NotExpected(value, expected));
}

bool Section::Has(absl::string_view key) const { return findings_.Has(PathOf(key)); }

bool Section::IsMap(absl::string_view key) {
  Describe(key, {.values = "one text, a list or a map"});
  const YamlNode* node = Raw(key);
  if (findings_.purpose() == Findings::Purpose::kListKeys) return true;
  return node != nullptr && node->kind == Kind::kMap;
}

const YamlNode* Section::Raw(absl::string_view key) {
  asked_.emplace(key);
  findings_.Ask(PathOf(key));
  if (node_ == nullptr) return nullptr;
  for (const YamlNode::Entry& entry : node_->entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

void Section::Describe(absl::string_view key, JobKey description) {
  description.key = PathOf(key);
  findings_.Describe(std::move(description));
}

const YamlNode* Section::Scalar(absl::string_view key, absl::string_view expected) {
  const YamlNode* node = Raw(key);
  if (node == nullptr || node->kind == Kind::kScalar) return node;
  RefuseValue(key, *node, expected);
  return nullptr;
}

std::vector<const YamlNode*> Section::Scalars(absl::string_view key, absl::string_view expected) {
  Describe(key, {.values = "one or a list"});
  const YamlNode* node = Raw(key);
  if (node == nullptr) return {};
  if (node->kind == Kind::kScalar) return {node};
  if (node->kind != Kind::kList) {
    RefuseValue(key, *node, absl::StrCat("a list; each item is ", expected));
    return {};
  }
  std::vector<const YamlNode*> scalars;
  for (const YamlNode::Entry& entry : node->entries) {
    if (entry.value.kind == Kind::kScalar) {
      scalars.push_back(&entry.value);
    } else {
      RefuseValue(key, entry.value, expected);
    }
  }
  return scalars;
}

std::string Section::Text(absl::string_view key, absl::string_view fallback) {
  Describe(key, {.values = "a text", .default_value = std::string(fallback)});
  const YamlNode* node = Scalar(key, "a text");
  return node == nullptr ? std::string(fallback) : node->text;
}

bool Section::Flag(absl::string_view key, bool fallback) {
  Describe(key, {.values = "true, false", .default_value = fallback ? "true" : "false"});
  const YamlNode* node = Scalar(key, "true or false");
  if (node == nullptr) return fallback;
  const bool yes = node->text == "true";
  if (!node->quoted && (yes || node->text == "false")) return yes;
  RefuseValue(key, *node, "true or false");
  return fallback;
}

bool Section::ParseWhole(const YamlNode& node, absl::string_view key, WholeRange range,
                         uint64_t& value) {
  const std::optional<uint64_t> parsed =
      IsNumberInQuotes(node) ? std::nullopt : ParseCount(node.text);
  if (parsed && *parsed >= range.min && *parsed <= range.max) {
    value = *parsed;
    return true;
  }
  RefuseValue(key, node, absl::StrCat(kCountText, ", ", RangeText(range)));
  return false;
}

bool Section::ParseNumber(const YamlNode& node, absl::string_view key, NumberRange range,
                          double& value) {
  const std::optional<double> parsed = node.quoted ? std::nullopt : ParseDecimal(node.text);
  if (parsed && IsWithin(*parsed, range)) {
    value = *parsed;
    return true;
  }
  RefuseValue(key, node, absl::StrCat(kNumberText, ", ", RangeText(range)));
  return false;
}

uint64_t Section::Whole(absl::string_view key, WholeRange range, uint64_t fallback) {
  Describe(key, DescribeWhole(range, fallback));
  const YamlNode* node = Scalar(key, kCountText);
  if (node != nullptr) ParseWhole(*node, key, range, fallback);
  return fallback;
}

double Section::Number(absl::string_view key, NumberRange range, double fallback) {
  Describe(key, DescribeNumber(range, fallback));
  const YamlNode* node = Scalar(key, kNumberText);
  if (node != nullptr) ParseNumber(*node, key, range, fallback);
  return fallback;
}

uint64_t Section::Bytes(absl::string_view key, WholeRange range, uint64_t fallback) {
  Describe(key, DescribeBytes(range, fallback));
  const YamlNode* node = Scalar(key, kBytesText);
  if (node == nullptr) return fallback;
  const std::optional<uint64_t> parsed =
      IsNumberInQuotes(*node) ? std::nullopt : ParseByteSize(node->text);
  if (parsed && *parsed >= range.min && *parsed <= range.max) return *parsed;
  RefuseValue(key, *node, absl::StrCat(kBytesText, ", at least ", ByteSizeText(range.min)));
  return fallback;
}

double Section::Seconds(absl::string_view key, NumberRange range, double fallback) {
  Describe(key, DescribeSeconds(range, fallback));
  const YamlNode* node = Scalar(key, kSecondsText);
  if (node == nullptr) return fallback;
  const std::optional<double> parsed =
      IsNumberInQuotes(*node) ? std::nullopt : ParseSeconds(node->text);
  if (parsed && IsWithin(*parsed, range)) return *parsed;
  RefuseValue(key, *node, absl::StrCat(kSecondsText, ", in seconds ", RangeText(range)));
  return fallback;
}

std::vector<std::string> Section::Texts(absl::string_view key) {
  Describe(key, {.values = "one text or a list"});
  std::vector<std::string> texts;
  for (const YamlNode* node : Scalars(key, "a text")) texts.push_back(node->text);
  return texts;
}

std::vector<uint64_t> Section::Wholes(absl::string_view key, WholeRange range) {
  Describe(key, DescribeWholes(range));
  std::vector<uint64_t> values;
  for (const YamlNode* node : Scalars(key, kCountText)) {
    uint64_t value = 0;
    if (ParseWhole(*node, key, range, value)) values.push_back(value);
  }
  return values;
}

std::vector<double> Section::Numbers(absl::string_view key) {
  Describe(key, {.values = "a list of numbers"});
  std::vector<double> values;
  for (const YamlNode* node : Scalars(key, kNumberText)) {
    double value = 0;
    if (ParseNumber(*node, key, {.min = -NumberRange().max}, value)) values.push_back(value);
  }
  return values;
}

int Section::IndexOf(absl::string_view key, std::span<const absl::string_view> names,
                     absl::string_view fallback) {
  Describe(key, {.values = absl::StrJoin(names, ", "), .default_value = std::string(fallback)});
  const std::string expected = absl::StrCat("one of ", absl::StrJoin(names, ", "));
  const YamlNode* node = Scalar(key, expected);
  if (node == nullptr) return -1;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == node->text) return static_cast<int>(i);
  }
  const absl::string_view nearest = Nearest(node->text, names);
  const std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  Refuse(key, absl::StrCat(NotExpected(*node, expected), hint));
  return -1;
}

Section Section::Map(absl::string_view key) {
  Describe(key, {.values = "a map"});
  return Section(Raw(key), PathOf(key), findings_);
}

std::vector<std::string> Section::Names() const {
  if (findings_.purpose() == Findings::Purpose::kListKeys) return {"<name>"};
  std::vector<std::string> names;
  if (node_ == nullptr) return names;
  for (const YamlNode::Entry& entry : node_->entries) {
    // A key that is given twice is refused elsewhere.
    if (std::find(names.begin(), names.end(), entry.key) == names.end()) names.push_back(entry.key);
  }
  return names;
}

void Section::ForEach(absl::string_view key, MapReader read_map) {
  ForEach(key, read_map,
          [this, key](const YamlNode& scalar) { RefuseValue(key, scalar, "a map of keys"); });
}

void Section::ForEach(absl::string_view key, MapReader read_map, ScalarReader read_scalar) {
  Describe(key, {.values = "one or a list"});
  const YamlNode* node = Raw(key);
  if (node == nullptr && findings_.purpose() == Findings::Purpose::kListKeys) {
    Section item(nullptr, PathOf(key) + "[]", findings_);
    read_map(item);
  }
  if (node == nullptr) return;
  std::vector<const YamlNode*> items;
  if (node->kind != Kind::kList) items.push_back(node);
  for (const YamlNode::Entry& entry : node->entries) {
    if (node->kind == Kind::kList) items.push_back(&entry.value);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]->kind == Kind::kScalar) {
      read_scalar(*items[i]);
      continue;
    }
    Section item(items[i], absl::StrCat(PathOf(key), "[", i, "]"), findings_);
    read_map(item);
  }
}

}  // namespace capstan
