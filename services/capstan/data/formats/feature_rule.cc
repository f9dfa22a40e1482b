#include "capstan/data/formats/feature_rule.h"

#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/quote.h"

namespace capstan {

FeatureRule::FeatureRule(const v1::FeatureSpec& spec, std::shared_ptr<const Vocabulary> vocabulary)
    : name_(spec.name()),
      kind_(spec.kind()),
      many_(spec.many()),
      separator_(SeparatorOf(spec)),
      most_(spec.most()),
      weighted_(spec.has_weights()),
      buckets_(spec.buckets()),
      unknown_(spec.vocabulary().unknown()),
      vocabulary_(std::move(vocabulary)) {}

bool FeatureRule::Append(std::string_view cell, std::vector<uint64_t>& keys,
                         std::string& error) const {
  if (!many_) return (cell.empty() && kind_ == v1::KEY_KIND_ID) || AppendOne(cell, keys, error);
  for (uint32_t taken = 0; !cell.empty() && taken < most_;) {
    const std::string_view value = TakeValue(cell, separator_);
    if (value.empty()) continue;
    if (!AppendOne(value, keys, error)) return false;
    ++taken;
  }
  return true;
}

bool FeatureRule::AppendOne(std::string_view value, std::vector<uint64_t>& keys,
                            std::string& error) const {
  uint64_t key = 0;
  if (!KeyOf(value, key, error)) return false;
  keys.push_back(buckets_ > 0 ? key % buckets_ : key);
  return true;
}

bool FeatureRule::KeyOf(std::string_view value, uint64_t& key, std::string& error) const {
  if (kind_ == v1::KEY_KIND_ID) {
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, key);
    if (parsed.ec == std::errc() && parsed.ptr == end) return true;
    error = absl::StrCat(Quote(value), " is not an id: a whole number from 0 to 2^64-1");
    return false;
  }
  if (kind_ != v1::KEY_KIND_VOCABULARY) {
    key = HashText(value);
    return true;
  }
  CAPSTAN_CHECK(vocabulary_ != nullptr);
  const std::optional<uint64_t> place = vocabulary_->Find(value);
  if (!place && unknown_ == 0) {
    error = absl::StrCat(Quote(value), " is not in the vocabulary of ", name_,
                         ", which has no unknown texts");
    return false;
  }
  key = place ? *place : vocabulary_->size() + HashText(value) % unknown_;
  return true;
}

}  // namespace capstan
