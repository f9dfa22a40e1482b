#include "capstan/config/job_key.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "capstan/config/quantity.h"

namespace capstan {
namespace {

struct TimeUnit {
  absl::string_view name;
  double seconds;
};

// Counts from here on are shown in the unit that they are a multiple of.
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

// Returns 64KiB or 1MiB, without a 0 behind the point, which ByteSizeText may show.
std::string SizeText(uint64_t bytes) {
  return absl::StrReplaceAll(ByteSizeText(bytes), {{".0", ""}});
}

std::string Span(const std::string& min, const std::string& max, bool open) {
  if (max.empty()) return open ? absl::StrCat("above ", min) : absl::StrCat(min, " or more");
  return open ? absl::StrCat("above ", min, ", up to ", max) : absl::StrCat(min, " to ", max);
}

bool IsIn(const NumberRange& range, double value) {
  return (range.open ? value > range.min : value >= range.min) && value <= range.max;
}

bool HasEnd(const NumberRange& range) { return range.max < NumberRange().max; }

std::string WholeSpan(const WholeRange& range) {
  return Span(CountText(range.min), range.max == UINT64_MAX ? "" : CountText(range.max), false);
}

bool IsIn(const WholeRange& range, uint64_t value) {
  return value >= range.min && value <= range.max;
}

}  // namespace

JobKey DescribeWhole(WholeRange range, uint64_t fallback) {
  return {.values = WholeSpan(range),
          .default_value = IsIn(range, fallback) ? CountText(fallback) : ""};
}

JobKey DescribeBytes(WholeRange range, uint64_t fallback) {
  return {.values = absl::StrCat("a size, ", SizeText(range.min), " or more"),
          .default_value = IsIn(range, fallback) ? SizeText(fallback) : "",
          .unit = KeyUnit::kBytes};
}

JobKey DescribeSeconds(NumberRange range, double fallback) {
  const std::string max = HasEnd(range) ? SecondsText(range.max) : "";
  return {.values = absl::StrCat("a time, ", Span(SecondsText(range.min), max, range.open)),
          .default_value = IsIn(range, fallback) ? SecondsText(fallback) : "",
          .unit = KeyUnit::kSeconds};
}

JobKey DescribeNumber(NumberRange range, double fallback) {
  const std::string max = HasEnd(range) ? NumberText(range.max) : "";
  const bool any = range.min <= -NumberRange().max;
  return {.values = any ? "a number"
                        : absl::StrCat("a number, ", Span(NumberText(range.min), max, range.open)),
          .default_value = IsIn(range, fallback) ? NumberText(fallback) : ""};
}

JobKey DescribeWholes(WholeRange range) {
  return {.values = absl::StrCat("one or a list, ", WholeSpan(range))};
}

std::string TextInUnit(KeyUnit unit, double value) {
  if (unit == KeyUnit::kSeconds) return SecondsText(value);
  if (unit == KeyUnit::kNone) return NumberText(value);
  const auto bytes = static_cast<uint64_t>(value);
  std::string text = SizeText(bytes);
  return ParseByteSize(text) == bytes ? text : absl::StrCat(bytes);
}

}  // namespace capstan
