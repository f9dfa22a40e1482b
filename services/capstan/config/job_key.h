// Describes a key of job.yaml independently of a job: the values that it takes, its default, and
// what it means. Values and default are told by the same call that reads the key (section.h), so
// the two cannot differ; what it means stands in declared_keys.h.
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

// What the number is that a key stands for in v1::JobSpec, where a job writes it otherwise.
enum class KeyUnit { kNone, kSeconds, kBytes };

struct JobKey {
  std::string key = {};     // "train.batch_size", "model.towers[].kind"
  std::string values = {};  // "1 to 4096"; "async, ssp, sync"
  // As a job would write it, or in words, in which names stand in `backquotes`; empty: there is
  // none.
  std::string default_value = {};
  bool required = false;  // Every job for which the key has a meaning must set it.
  KeyUnit unit = KeyUnit::kNone;
  std::string help = {};  // Whole sentences, in Markdown; empty: a map of keys.
};

// Each returns the description of a key for the method of Section that reads it. A `fallback` out
// of the range is not shown as a default: the key is then off by default, or required.
JobKey DescribeWhole(WholeRange range, uint64_t fallback);
JobKey DescribeBytes(WholeRange range, uint64_t fallback);
JobKey DescribeSeconds(NumberRange range, double fallback);
JobKey DescribeNumber(NumberRange range, double fallback);
JobKey DescribeWholes(WholeRange range);

// Returns a number of v1::JobSpec as a job would write it: 5m for 300 seconds, 1MiB. A size that no
// unit holds whole is told in bytes.
std::string TextInUnit(KeyUnit unit, double value);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_JOB_KEY_H_
