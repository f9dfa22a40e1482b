// Describes a job for `capstan config check`, before anything runs.
#ifndef CAPSTAN_CONFIG_DESCRIBE_H_
#define CAPSTAN_CONFIG_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

struct JobScale {
  uint64_t train_tasks = 0;
  uint64_t eval_tasks = 0;
  int shards = 1;
  int workers = 1;
  uint64_t dense_bytes = 0;    // Weights and optimizer state of the shard that has most.
  uint64_t row_bytes = 0;      // Bytes of a row on a shard; 0 if there is no table.
  uint64_t expected_rows = 0;  // Total rows that all tables will have; 0 if not known.
};

struct JobDescription {
  std::vector<std::string> lines;     // "model      deepfm, 39 fields, embedding 16, 400-400"
  std::vector<std::string> warnings;  // One line each.
};

// Describes `spec`, which has its tables and tensors as the chief distributes it. Memory is that of
// weights, optimizer state and index.
JobDescription DescribeJob(const v1::JobSpec& spec, const JobScale& scale);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DESCRIBE_H_
