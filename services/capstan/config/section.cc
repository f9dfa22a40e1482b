#include "capstan/config/section.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/check.h"
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

// A number in quotes is a text. A value with a unit is a text in YAML with or without quotes.
bool IsNumberInQuotes(const YamlNode& node) {
  return node.quoted && ParseDecimal(node.text).has_value();
}

std::string NotExpected(const YamlNode& node, absl::string_view expected) {
  return absl::StrCat(WhatItIs(node), IsNumberInQuotes(node) ? " (in quotes, hence text)" : "",
                      " is not ", expected);
}

std::string RangeText(const NumberRange& range) {
  std::string text = absl::StrCat(range.open ? "above " : "at least ", range.min);
  if (range.max < NumberRange::kNoEnd) absl::StrAppend(&text, " and at most ", range.max);
  return text;
}

std::string RangeText(const WholeRange& range) {
  if (range.max == WholeRange().max) return absl::StrCat("at least ", range.min);
  return absl::StrCat("from ", range.min, " to ", range.max);
}

const YamlNode* MapOrNull(const YamlNode* node) {
  return node != nullptr && node->kind == Kind::kMap ? node : nullptr;
}

std::string JoinPath(absl::string_view path, absl::string_view key) {
  return absl::StrCat(path, path.empty() || key.empty() ? "" : ".", key);
}

}  // namespace

Section::Section(const YamlNode* node, Findings& findings, Declarations declarations)
    : node_(MapOrNull(node)), declarations_(declarations), findings_(findings) {
  NotePlaces(node);
}

Section::Section(const YamlNode* node, std::string path, std::string declared,
                 const Section& parent)
    : node_(MapOrNull(node)),
      path_(std::move(path)),
      declared_path_(std::move(declared)),
      declarations_(parent.declarations_),
      findings_(parent.findings_) {
  NotePlaces(node);
}

void Section::NotePlaces(const YamlNode* node) {
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

std::string Section::PathOf(absl::string_view key) const { return JoinPath(path_, key); }

std::string Section::DeclaredPathOf(absl::string_view key) const {
  return JoinPath(declared_path_, user_names_keys_ ? "<name>" : key);
}

template <typename T>
const T& Section::DeclaredAs(absl::string_view key) const {
  const DeclaredKey* const declared = declarations_(DeclaredPathOf(key));
  CAPSTAN_CHECK(declared != nullptr);
  const T* const values = std::get_if<T>(&declared->values);
  CAPSTAN_CHECK(values != nullptr);
  return *values;
}

void Section::CheckIsSetting(absl::string_view key) const {
  const DeclaredKey* const declared = declarations_(DeclaredPathOf(key));
  CAPSTAN_CHECK(declared == nullptr || std::holds_alternative<OptimizerKey>(declared->values));
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
  Describe(key, MapKey{});
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

void Section::Describe(absl::string_view key, const KeyValues& values) {
  if (findings_.purpose() != Findings::Purpose::kListKeys) return;
  const DeclaredKey* const declared = declarations_(DeclaredPathOf(key));
  const bool has_values =
      declared != nullptr && !std::holds_alternative<OptimizerKey>(declared->values);
  JobKey description = DescribeValues(has_values ? declared->values : values);
  description.key = PathOf(key);
  if (declared != nullptr) {
    const absl::string_view words = declared->default_words;
    if (!words.empty()) description.default_value = std::string(words);
    description.required = declared->required;
  }
  findings_.Describe(std::move(description));
}

const YamlNode* Section::Scalar(absl::string_view key, absl::string_view expected) {
  const YamlNode* node = Raw(key);
  if (node == nullptr || node->kind == Kind::kScalar) return node;
  RefuseValue(key, *node, expected);
  return nullptr;
}

std::vector<const YamlNode*> Section::Scalars(absl::string_view key, absl::string_view expected) {
  Describe(key, ListKey{});
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

std::string Section::Text(absl::string_view key, std::optional<absl::string_view> otherwise) {
  const TextKey& text = DeclaredAs<TextKey>(key);
  CAPSTAN_CHECK(!otherwise.has_value() || text.by_default.empty());
  Describe(key, text);
  const YamlNode* node = Scalar(key, "a text");
  return node == nullptr ? std::string(otherwise.value_or(text.by_default)) : node->text;
}

bool Section::FlagOf(absl::string_view key, const FlagKey& flag) {
  Describe(key, flag);
  const YamlNode* node = Scalar(key, "true or false");
  if (node == nullptr) return flag.by_default;
  const bool yes = node->text == "true";
  if (!node->quoted && (yes || node->text == "false")) return yes;
  RefuseValue(key, *node, "true or false");
  return flag.by_default;
}

bool Section::Flag(absl::string_view key) { return FlagOf(key, DeclaredAs<FlagKey>(key)); }

bool Section::ParseWhole(const YamlNode& node, absl::string_view key, const WholeRange& range,
                         uint64_t& value) {
  const std::optional<uint64_t> parsed =
      IsNumberInQuotes(node) ? std::nullopt : ParseCount(node.text);
  if (parsed && range.Has(*parsed)) {
    value = *parsed;
    return true;
  }
  RefuseValue(key, node, absl::StrCat(kCountText, ", ", RangeText(range)));
  return false;
}

bool Section::ParseNumber(const YamlNode& node, absl::string_view key, const NumberRange& range,
                          double& value) {
  const std::optional<double> parsed = node.quoted ? std::nullopt : ParseDecimal(node.text);
  if (parsed && range.Has(*parsed)) {
    value = *parsed;
    return true;
  }
  RefuseValue(key, node, absl::StrCat(kNumberText, ", ", RangeText(range)));
  return false;
}

uint64_t Section::Whole(absl::string_view key, std::optional<uint64_t> otherwise) {
  const WholeKey& whole = DeclaredAs<WholeKey>(key);
  CAPSTAN_CHECK(!otherwise.has_value() || !whole.by_default.has_value());
  Describe(key, whole);
  uint64_t value = otherwise.value_or(whole.by_default.value_or(0));
  const YamlNode* node = Scalar(key, kCountText);
  if (node != nullptr) ParseWhole(*node, key, whole.in, value);
  return value;
}

double Section::NumberOf(absl::string_view key, const NumberKey& number, double otherwise) {
  Describe(key, number);
  const YamlNode* node = Scalar(key, kNumberText);
  if (node != nullptr) ParseNumber(*node, key, number.in, otherwise);
  return otherwise;
}

double Section::Number(absl::string_view key) {
  const NumberKey& number = DeclaredAs<NumberKey>(key);
  return NumberOf(key, number, number.by_default.value_or(0));
}

uint64_t Section::Bytes(absl::string_view key) {
  const BytesKey& bytes = DeclaredAs<BytesKey>(key);
  const uint64_t fallback = bytes.by_default.value_or(0);
  Describe(key, bytes);
  const YamlNode* node = Scalar(key, kBytesText);
  if (node == nullptr) return fallback;
  const std::optional<uint64_t> parsed =
      IsNumberInQuotes(*node) ? std::nullopt : ParseByteSize(node->text);
  if (parsed && *parsed >= bytes.min) return *parsed;
  RefuseValue(key, *node, absl::StrCat(kBytesText, ", at least ", ByteSizeText(bytes.min)));
  return fallback;
}

double Section::Seconds(absl::string_view key) {
  const SecondsKey& seconds = DeclaredAs<SecondsKey>(key);
  const double fallback = seconds.by_default.value_or(0);
  Describe(key, seconds);
  const YamlNode* node = Scalar(key, kSecondsText);
  if (node == nullptr) return fallback;
  const std::optional<double> parsed =
      IsNumberInQuotes(*node) ? std::nullopt : ParseSeconds(node->text);
  if (parsed && seconds.in.Has(*parsed)) return *parsed;
  RefuseValue(key, *node, absl::StrCat(kSecondsText, ", in seconds ", RangeText(seconds.in)));
  return fallback;
}

std::vector<std::string> Section::Texts(absl::string_view key) {
  Describe(key, DeclaredAs<TextsKey>(key));
  std::vector<std::string> texts;
  for (const YamlNode* node : Scalars(key, "a text")) texts.push_back(node->text);
  return texts;
}

std::vector<uint64_t> Section::Wholes(absl::string_view key) {
  const WholesKey& wholes = DeclaredAs<WholesKey>(key);
  Describe(key, wholes);
  std::vector<uint64_t> values;
  for (const YamlNode* node : Scalars(key, kCountText)) {
    uint64_t value = 0;
    if (ParseWhole(*node, key, wholes.in, value)) values.push_back(value);
  }
  return values;
}

std::vector<double> Section::Numbers(absl::string_view key) {
  Describe(key, DeclaredAs<NumbersKey>(key));
  std::vector<double> values;
  for (const YamlNode* node : Scalars(key, kNumberText)) {
    double value = 0;
    if (ParseNumber(*node, key, {.min = -NumberRange::kNoEnd}, value)) values.push_back(value);
  }
  return values;
}

const KeyChoice* Section::ChosenOf(absl::string_view key, const ChoiceKey& choices) {
  Describe(key, choices);
  std::vector<absl::string_view> names;
  const KeyChoice* fallback = nullptr;
  for (const KeyChoice& choice : choices.among) {
    names.push_back(choice.name);
    if (choice.name == choices.by_default) fallback = &choice;
  }
  const std::string expected = absl::StrCat("one of ", absl::StrJoin(names, ", "));
  const YamlNode* node = Scalar(key, expected);
  if (node == nullptr) return fallback;
  for (const KeyChoice& choice : choices.among) {
    if (choice.name == node->text) return &choice;
  }
  const absl::string_view nearest = Nearest(node->text, names);
  const std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  Refuse(key, absl::StrCat(NotExpected(*node, expected), hint));
  return fallback;
}

const KeyChoice* Section::Chosen(absl::string_view key) {
  return ChosenOf(key, DeclaredAs<ChoiceKey>(key));
}

double Section::Setting(absl::string_view key, const NumberRange& range, double fallback) {
  CheckIsSetting(key);
  NumberKey number{.in = range};
  if (range.Has(fallback)) number.by_default = fallback;
  return NumberOf(key, number, fallback);
}

bool Section::Setting(absl::string_view key, const FlagKey& flag) {
  CheckIsSetting(key);
  return FlagOf(key, flag);
}

const KeyChoice* Section::Setting(absl::string_view key, const ChoiceKey& choices) {
  CheckIsSetting(key);
  return ChosenOf(key, choices);
}

Section Section::Map(absl::string_view key) {
  Describe(key, MapKey{});
  return Section(Raw(key), PathOf(key), DeclaredPathOf(key), *this);
}

std::vector<std::string> Section::Names() {
  user_names_keys_ = true;
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
  Describe(key, ListKey{});
  const YamlNode* node = Raw(key);
  if (node == nullptr && findings_.purpose() == Findings::Purpose::kListKeys) {
    Section item(nullptr, PathOf(key) + "[]", DeclaredPathOf(key) + "[]", *this);
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
    Section item(items[i], absl::StrCat(PathOf(key), "[", i, "]"), DeclaredPathOf(key) + "[]",
                 *this);
    read_map(item);
  }
}

}  // namespace capstan
