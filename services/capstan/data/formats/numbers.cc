#include "capstan/data/formats/numbers.h"

#include <charconv>
#include <cmath>

#include "fast_float/fast_float.h"

namespace capstan {
namespace {

// Most numbers are small integers. Exact: seven digits are below 2^24.
bool ParseSmallInteger(std::string_view digits, float& value) {
  if (digits.empty() || digits.size() > 7) return false;
  uint32_t number = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  value = static_cast<float>(number);
  return true;
}

template <typename Number>
bool ParseDecimal(std::string_view text, Number& value) {
  text = Trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const char* end = text.data() + text.size();
  fast_float::from_chars_result result = fast_float::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool ParseFloat(std::string_view text, float& value) {
  return ParseSmallInteger(text, value) || ParseDecimal(text, value);
}

bool ParseDouble(std::string_view text, double& value) { return ParseDecimal(text, value); }

bool ParseIndex(std::string_view text, uint64_t& value) {
  const char* end = text.data() + text.size();
  std::from_chars_result result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace capstan
