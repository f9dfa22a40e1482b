// Computes means and deviations of columns.
#ifndef CAPSTAN_DATA_TASKS_MOMENTS_H_
#define CAPSTAN_DATA_TASKS_MOMENTS_H_

#include <cmath>
#include <cstdint>
#include <map>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Welford's algorithm, which is accurate even for many values that are far from zero.
class Moments {
 public:
  void Add(double value) {
    const double distance = value - mean_;
    mean_ += distance / static_cast<double>(++count_);
    squares_ += distance * (value - mean_);
  }
  double mean() const { return mean_; }
  double deviation() const {
    const double variance = count_ == 0 ? 0 : squares_ / static_cast<double>(count_);
    return variance > 0 ? std::sqrt(variance) : 1;
  }

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

inline bool IsStandard(const v1::ColumnSpec& column) {
  return column.transform() == v1::NUMERIC_TRANSFORM_STANDARD;
}

// The moments of each column that a job standardizes, by column. In formats without columns the
// label is column 0.
using ColumnMoments = std::map<uint32_t, Moments>;

// Returns empty moments for each column that the job standardizes.
inline ColumnMoments MomentsToMeasure(const v1::DataSpec& data) {
  ColumnMoments moments;
  if (data.standardize_label()) moments[data.columns() == 0 ? 0 : data.label_column()];
  for (const v1::ColumnSpec& column : data.numeric()) {
    if (IsStandard(column)) moments[column.column()];
  }
  return moments;
}

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_MOMENTS_H_
