// A job with data.features, and jobs that differ from it in one place.
#ifndef CAPSTAN_TESTS_UNIT_CONFIG_FEATURES_JOB_H_
#define CAPSTAN_TESTS_UNIT_CONFIG_FEATURES_JOB_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "capstan/config/config.h"

namespace capstan {

inline constexpr char kFeaturesJob[] = R"(
job: ads
data:
  format: csv
  header: true
  train: a.csv
  schema: {label: bought, numeric: [price]}
  features:
    user: {column: user_id, kind: id}
    history: {column: clicked, kind: id, table: item, many: true, separator: ";", most: 50, pooling: mean}
    recent: {column: clicked, kind: id, table: item, many: true, pooling: none}
    city: {column: city, buckets: 1M}
tables:
  user: {dim: 32, optimizer: {kind: rowwise_adagrad, learning_rate: 0.5}, expire_after_examples: 1G}
  item: {admission_count: 3}
table: {byte_budget: 1GiB}
model: {user: deepfm.py, embedding_dim: 8}
)";

inline absl::StatusOr<v1::JobSpec> ParsedJob(const std::string& text) {
  return ParseJob({.text = text, .name = "job.yaml", .folder = "/jobs"});
}

// `from` with `by` in the place of `what`, which it has.
inline std::string Replaced(std::string from, const std::string& what, const std::string& by) {
  const size_t at = from.find(what);
  EXPECT_NE(at, from.npos) << what;
  return from.replace(at, what.size(), by);
}

// Why that job is refused with `by` in the place of `what`; empty: it is not.
inline std::string RefusalWith(const std::string& what, const std::string& by) {
  return std::string(ParsedJob(Replaced(kFeaturesJob, what, by)).status().message());
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_CONFIG_FEATURES_JOB_H_
