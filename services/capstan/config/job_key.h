// What is known of a key of job.yaml without a job: the values that it takes, and which one it has
// where a job does not name it. The reader of the key says so itself (section.h), so that nobody
// can describe a key otherwise than it is read.
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
  std::string default_value = {};  // As a job would name it; empty: there is none.
  bool required = false;           // A job that the key means something to has to name it.
};

// The description of a key by the method of Section that reads it. A `fallback` out of the range is
// no default: the key is off, or required.
JobKey DescribeWhole(WholeRange range, uint64_t fallback);
JobKey DescribeBytes(WholeRange range, uint64_t fallback);
JobKey DescribeSeconds(NumberRange range, double fallback);
JobKey DescribeNumber(NumberRange range, double fallback);
JobKey DescribeWholes(WholeRange range);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_JOB_KEY_H_
