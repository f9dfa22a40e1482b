#include "capstan/config/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

struct Unit {
  absl::string_view name;
  double factor;
};

constexpr Unit kCountUnits[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr Unit kByteUnits[] = {{"", 1},         {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                               {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"KB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12}};
constexpr Unit kTimeUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

// Up to this number a double can represent every whole number.
constexpr double kMaxExact = 0x1p53;

// Parses the number at the beginning and the factor of its unit. Sign and exponent are not allowed.
std::optional<double> ParseWithUnit(absl::string_view text, std::span<const Unit> units) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + end, number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + end) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == text.substr(end)) return number * unit.factor;
  }
  return std::nullopt;
}

std::optional<uint64_t> ParseWhole(absl::string_view text, std::span<const Unit> units) {
  uint64_t exact = 0;  // A plain number may use all 64 bits.
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), exact);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return exact;
  std::optional<double> value = ParseWithUnit(text, units);
  // Helm writes a million as 1e+06.
  if (!value && absl::StrContains(text, "e+")) value = ParseDecimal(text);
  // 1.1M is 1100000.0000000001 in binary.
  if (!value || *value < 0 || *value > kMaxExact || std::abs(*value - std::round(*value)) > 1e-6) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(std::llround(*value));
}

}  // namespace

std::optional<uint64_t> ParseCount(absl::string_view text) { return ParseWhole(text, kCountUnits); }

std::optional<uint64_t> ParseByteSize(absl::string_view text) {
  return ParseWhole(text, kByteUnits);
}

std::optional<double> ParseSeconds(absl::string_view text) {
  if (text == "0") return 0;
  return ParseWithUnit(text, kTimeUnits);
}

std::optional<double> ParseDecimal(absl::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string ByteSizeText(uint64_t bytes) {
  if (bytes < 1024) return absl::StrFormat("%dB", bytes);
  constexpr absl::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return absl::StrFormat("%.*f%s", value < 10 ? 1 : 0, value, std::string(kUnits[unit]));
}

}  // namespace capstan
