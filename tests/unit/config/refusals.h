// Short ways to ask why a job is refused.
#ifndef TESTS_UNIT_CONFIG_REFUSALS_H_
#define TESTS_UNIT_CONFIG_REFUSALS_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"

namespace capstan {

// Why a text is refused.
inline std::string Refusal(const std::string& text, const JobOptions& options = {}) {
  const absl::StatusOr<v1::JobSpec> spec = ParseJob({.text = text}, options);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(spec.status().message());
}

// A good job of four lines with more lines after it.
inline std::string Job(const std::string& more) {
  return absl::StrCat("job: small\ndata: {format: csv, train: a, schema: {categorical: 1}}\n",
                      "model: {preset: lr}\n", more);
}

// Why a job is refused whose fourth line is `line`.
inline std::string RefusalOf(const std::string& line) { return Refusal(Job(line + "\n")); }

}  // namespace capstan

#endif  // TESTS_UNIT_CONFIG_REFUSALS_H_
