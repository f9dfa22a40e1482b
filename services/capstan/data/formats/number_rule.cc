#include "capstan/data/formats/number_rule.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/field_key.h"

namespace capstan {

NumberRule::NumberRule(const v1::ColumnSpec& spec, float scale)
    : transform_(spec.transform()), scale_(scale) {
  if (transform_ == v1::NUMERIC_TRANSFORM_STANDARD) {
    mean_ = spec.mean();
    deviation_ = spec.deviation() > 0 ? spec.deviation() : 1;  // 0: not measured yet.
  }
  // With `standard` the value for empty cells is in deviations from the mean.
  missing_number_ = Scaled(spec.missing());
  if (!buckets()) return;
  boundaries_.assign(spec.boundaries().begin(), spec.boundaries().end());
  for (size_t bucket = 0; bucket <= boundaries_.size(); ++bucket) {
    bucket_keys_.push_back(FieldKey(spec.column(), absl::StrCat(bucket)));
  }
  missing_key_ = FieldKey(spec.column(), "");
}

float NumberRule::Number(float value) const {
  if (transform_ == v1::NUMERIC_TRANSFORM_STANDARD) {
    value = static_cast<float>((value - mean_) / deviation_);
  }
  return Scaled(value);
}

float NumberRule::Scaled(float value) const {
  if (transform_ == v1::NUMERIC_TRANSFORM_LOG) {
    value = std::copysign(std::log1p(std::fabs(value)), value);
  }
  return value * scale_;
}

uint64_t NumberRule::Key(float value) const {
  const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), value);
  return bucket_keys_[static_cast<size_t>(above - boundaries_.begin())];
}

}  // namespace capstan
