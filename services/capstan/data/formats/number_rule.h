// Converts the value of a numeric column to a number of the dense input, or to the key of its
// bucket.
#ifndef CAPSTAN_DATA_FORMATS_NUMBER_RULE_H_
#define CAPSTAN_DATA_FORMATS_NUMBER_RULE_H_

#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Immutable.
class NumberRule {
 public:
  // `scale`: data.numeric_scale.
  NumberRule(const v1::ColumnSpec& spec, float scale);

  bool buckets() const { return transform_ == v1::NUMERIC_TRANSFORM_BUCKET; }

  // For a column without buckets: the number for a cell with `value`, and for an empty one.
  float Number(float value) const;
  float missing_number() const { return missing_number_; }

  // For a column with buckets: the key for a cell with `value`, and for an empty one.
  uint64_t Key(float value) const;
  uint64_t missing_key() const { return missing_key_; }

 private:
  float Scaled(float value) const;

  v1::NumericTransform transform_;
  float scale_;
  double mean_ = 0;
  double deviation_ = 1;
  std::vector<float> boundaries_;
  std::vector<uint64_t> bucket_keys_;  // boundaries + 1
  uint64_t missing_key_ = 0;
  float missing_number_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_NUMBER_RULE_H_
