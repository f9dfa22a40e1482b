// The description of a key of job.yaml for people, independent of a job: its values, its default
// and its meaning, as declared (declared_keys.h).
#ifndef CAPSTAN_CONFIG_JOB_KEY_H_
#define CAPSTAN_CONFIG_JOB_KEY_H_

#include <string>

#include "capstan/config/key_values.h"

namespace capstan {

// The unit of the number in v1::JobSpec, if job.yaml is written differently, such as "5m" or
// "1MiB".
enum class KeyUnit { kNone, kSeconds, kBytes };

struct JobKey {
  std::string key = {};     // "train.batch_size", "model.towers[].kind"
  std::string values = {};  // "1 to 4096"; "async, ssp, sync"
  // As a job would write it, or in words, with names in `backquotes`; empty if there is none.
  std::string default_value = {};
  bool required = false;  // Every job to which the key applies must set it.
  KeyUnit unit = KeyUnit::kNone;
  std::string help = {};  // Whole sentences, in Markdown; empty for a map of keys.
};

// Returns a JobKey with `values`, `default_value` and `unit` set according to `values`.
JobKey DescribeValues(const KeyValues& values);

// Returns a number of v1::JobSpec as a job would write it: 5m for 300 seconds, 1MiB. A size that is
// not a whole number of any unit is written in bytes.
std::string TextInUnit(KeyUnit unit, double value);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_JOB_KEY_H_
