// Describes a key of job.yaml for people, independently of a job: the values that it takes, its
// default, and what it means, as declared (declared_keys.h).
#ifndef CAPSTAN_CONFIG_JOB_KEY_H_
#define CAPSTAN_CONFIG_JOB_KEY_H_

#include <string>

#include "capstan/config/key_values.h"

namespace capstan {

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

// Returns the description of values: `values`, `default_value` and `unit`.
JobKey DescribeValues(const KeyValues& values);

// Returns a number of v1::JobSpec as a job would write it: 5m for 300 seconds, 1MiB. A size that no
// unit holds whole is told in bytes.
std::string TextInUnit(KeyUnit unit, double value);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_JOB_KEY_H_
