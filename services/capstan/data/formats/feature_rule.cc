#include "capstan/data/formats/feature_rule.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/quote.h"

namespace capstan {

FeatureRule::FeatureRule(const v1::FeatureSpec& spec)
    : name_(spec.name()),
      id_(spec.kind() == v1::KEY_KIND_ID),
      many_(spec.many()),
      separator_(spec.separator().empty() ? '|' : spec.separator().front()),
      most_(spec.most()),
      buckets_(spec.buckets()) {}

bool FeatureRule::Append(std::string_view cell, std::vector<uint64_t>& keys,
                         std::string& error) const {
  if (!many_) return (cell.empty() && id_) || AppendOne(cell, keys, error);
  for (uint32_t taken = 0; !cell.empty() && taken < most_;) {
    const std::string_view value = cell.substr(0, cell.find(separator_));
    cell.remove_prefix(std::min(cell.size(), value.size() + 1));
    if (value.empty()) continue;
    if (!AppendOne(value, keys, error)) return false;
    ++taken;
  }
  return true;
}

bool FeatureRule::AppendOne(std::string_view value, std::vector<uint64_t>& keys,
                            std::string& error) const {
  uint64_t key = 0;
  if (id_) {
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, key);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      error = absl::StrCat(Quote(value), " is not an id: a whole number from 0 to 2^64-1");
      return false;
    }
  } else {
    key = HashText(value);
  }
  keys.push_back(buckets_ > 0 ? key % buckets_ : key);
  return true;
}

}  // namespace capstan
