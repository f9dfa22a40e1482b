// Describes a key of job.yaml independently of a job: the values that it takes, and its default.
// The description is made by the same call that reads the key (section.h), so the two cannot
// differ.
#ifndef CAPSTAN_CONFIG_JOB_KEY_H_
#define CAPSTAN_CONFIG_JOB_KEY_H_

#include <cstdint>
#include <string>

namespace capstan {

struct WholeRange {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
};

struct NumberRange {
  double min = 0;
  double max = 1e30;
  bool open = false;  // min itself is excluded.
};

struct JobKey {
  std::string key = {};            // "train.batch_size", "model.towers[].kind"
  std::string values = {};         // "1 to 4096"; "async, ssp, sync"
  std::string default_value = {};  // As a job would write it, or in words; empty: there is none.
  bool required = false;           // Every job for which the key has a meaning must set it.
};

// Each returns the description of a key for the method of Section that reads it. A `fallback` out
// of the range is not shown as a default: the key is then off by default, or required.
JobKey DescribeWhole(WholeRange range, uint64_t fallback);
JobKey DescribeBytes(WholeRange range, uint64_t fallback);
JobKey DescribeSeconds(NumberRange range, double fallback);
JobKey DescribeNumber(NumberRange range, double fallback);
JobKey DescribeWholes(WholeRange range);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_JOB_KEY_H_
