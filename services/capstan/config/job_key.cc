#include "capstan/config/job_key.h"

#include <cstdint>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "capstan/config/quantity.h"

namespace capstan {
namespace {

struct TimeUnit {
  absl::string_view name;
  double seconds;
};

// Counts from this number on are shown in the largest unit of which they are a multiple.
constexpr uint64_t kLongCount = 10000;

std::string CountText(uint64_t count) {
  if (count >= kLongCount && count % 1000000 == 0) return absl::StrCat(count / 1000000, "M");
  if (count >= kLongCount && count % 1000 == 0) return absl::StrCat(count / 1000, "k");
  return absl::StrCat(count);
}

std::string SecondsText(double seconds) {
  constexpr TimeUnit kUnits[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
  for (const TimeUnit& unit : kUnits) {
    const auto whole = static_cast<uint64_t>(seconds / unit.seconds);
    if (whole > 0 && static_cast<double>(whole) * unit.seconds == seconds) {
      return absl::StrCat(whole, unit.name);
    }
  }
  return seconds == 0 ? "0s" : absl::StrCat(seconds * 1000, "ms");
}

// Returns the shortest text of a number that was given as a float: 1e-8, not 1e-08.
std::string NumberText(double number) {
  std::string text = absl::StrCat(number);
  if (const size_t zero = text.find("e-0"); zero != text.npos) text.erase(zero + 2, 1);
  return text;
}

// Returns 64KiB or 1MiB, without the ".0" that ByteSizeText may add.
std::string SizeText(uint64_t bytes) {
  return absl::StrReplaceAll(ByteSizeText(bytes), {{".0", ""}});
}

std::string Span(const std::string& min, const std::string& max, bool open) {
  if (max.empty()) return open ? absl::StrCat("above ", min) : absl::StrCat(min, " or more");
  return open ? absl::StrCat("above ", min, ", up to ", max) : absl::StrCat(min, " to ", max);
}

std::string WholeSpan(const WholeRange& range) {
  return Span(CountText(range.min), range.max == UINT64_MAX ? "" : CountText(range.max), false);
}

// `text` writes a number.
std::string NumberSpan(const NumberRange& range, std::string (*text)(double)) {
  const std::string max = range.max < NumberRange::kNoEnd ? text(range.max) : "";
  return Span(text(range.min), max, range.open);
}

// The description of each kind of values.
JobKey Described(const MapKey&) { return {.values = "a map"}; }

JobKey Described(const TextKey& key) {
  return {.values = "a text", .default_value = std::string(key.by_default)};
}

JobKey Described(const TextsKey& key) {
  return {.values = key.or_map ? "one text, a list or a map" : "one text or a list"};
}

JobKey Described(const FlagKey& key) {
  return {.values = "true, false", .default_value = key.by_default ? "true" : "false"};
}

JobKey Described(const WholeKey& key) {
  return {.values = WholeSpan(key.in),
          .default_value = key.by_default ? CountText(*key.by_default) : ""};
}

JobKey Described(const WholesKey& key) {
  return {.values = absl::StrCat("one or a list, ", WholeSpan(key.in))};
}

JobKey Described(const BytesKey& key) {
  return {.values = absl::StrCat("a size, ", SizeText(key.min), " or more"),
          .default_value = key.by_default ? SizeText(*key.by_default) : "",
          .unit = KeyUnit::kBytes};
}

JobKey Described(const SecondsKey& key) {
  return {.values = absl::StrCat("a time, ", NumberSpan(key.in, SecondsText)),
          .default_value = key.by_default ? SecondsText(*key.by_default) : "",
          .unit = KeyUnit::kSeconds};
}

JobKey Described(const NumberKey& key) {
  const bool any = key.in.min <= -NumberRange::kNoEnd;
  return {.values = any ? "a number" : absl::StrCat("a number, ", NumberSpan(key.in, NumberText)),
          .default_value = key.by_default ? NumberText(*key.by_default) : ""};
}

JobKey Described(const NumbersKey&) { return {.values = "a list of numbers"}; }

JobKey Described(const ChoiceKey& key) {
  const auto append_name = [](std::string* text, const KeyChoice& choice) {
    absl::StrAppend(text, choice.name);
  };
  return {.values = absl::StrJoin(key.among, ", ", append_name),
          .default_value = std::string(key.by_default)};
}

JobKey Described(const ListKey&) { return {.values = "one or a list"}; }

// What its values are depends on the optimizer.
JobKey Described(const OptimizerKey&) { return {}; }

}  // namespace

JobKey DescribeValues(const KeyValues& values) {
  return std::visit([](const auto& key) { return Described(key); }, values);
}

std::string TextInUnit(KeyUnit unit, double value) {
  if (unit == KeyUnit::kSeconds) return SecondsText(value);
  if (unit == KeyUnit::kNone) return NumberText(value);
  const auto bytes = static_cast<uint64_t>(value);
  std::string text = SizeText(bytes);
  return ParseByteSize(text) == bytes ? text : absl::StrCat(bytes);
}

}  // namespace capstan
