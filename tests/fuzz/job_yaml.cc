// job.yaml: read or refused with INVALID_ARGUMENT and a message; what is read can be described.
#include <string>

#include "capstan/base/check.h"
#include "capstan/config/config.h"
#include "tests/fuzz/fuzz.h"

void Fuzz(std::string_view input) {
  const auto job = capstan::ParseJob({.text = std::string(input)}, {.default_lanes = 2});
  if (job.ok()) return;
  CAPSTAN_CHECK(job.status().code() == absl::StatusCode::kInvalidArgument);
  CAPSTAN_CHECK(!job.status().message().empty());
}
