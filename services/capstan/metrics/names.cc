#include "capstan/metrics/names.h"

#include <algorithm>

namespace capstan::metrics {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsWordCharacter(char c) { return IsLower(c) || (c >= '0' && c <= '9') || c == '_'; }

bool IsWord(std::string_view word) {
  return !word.empty() && IsLower(word.front()) && word.back() != '_' &&
         word.find("__") == word.npos && std::all_of(word.begin(), word.end(), IsWordCharacter);
}

}  // namespace

bool IsMetricName(std::string_view name, Kind kind) {
  if (!name.starts_with("capstan_") || !IsWord(name)) return false;
  for (const std::string_view ending : {"_bucket", "_count", "_sum"}) {
    if (name.ends_with(ending)) return false;
  }
  return name.ends_with("_total") == (kind == Kind::kCounter);
}

bool IsLabelName(std::string_view name) { return IsWord(name) && name != "le"; }

}  // namespace capstan::metrics
