// job.yaml -> v1::JobSpec with every default filled in, or a refusal. docs/job-yaml.md is the
// reference of the keys. The parameters of the model (JobSpec.tables, .tensors) are not made here
// but by capstan/model from the result.
#ifndef CAPSTAN_CONFIG_CONFIG_H_
#define CAPSTAN_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/config/job_key.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct JobOptions {
  // "train.epochs=5": the value is YAML and goes over the file's.
  std::vector<std::string> overrides = {};
  // Lanes of a synchronous part that does not say how many it has; 0: it must say.
  uint32_t default_lanes = 0;
};

// Reads a job file. INVALID_ARGUMENT (NOT_FOUND for the file itself): the message is one line a
// mistake, each with its place and what was expected:
//
//   job.yaml:12: data.format: "cvs" is not one of csv, tsv, libsvm, libfm, idx, synthetic, ...; did
//   you mean csv?
//
// Relative paths in the file are relative to its folder; in the result they are absolute. Local
// data files must exist.
absl::StatusOr<v1::JobSpec> LoadJob(const std::string& path, const JobOptions& options = {});

// The same of a text. `name` stands for the file in messages, relative paths stay below `folder`,
// and no file is looked for.
struct JobText {
  std::string text;
  std::string name = "job.yaml";
  std::string folder = {};
};
absl::StatusOr<v1::JobSpec> ParseJob(const JobText& job, const JobOptions& options = {});

// Where the job of a file is kept, whatever mistakes the file has elsewhere. INVALID_ARGUMENT: it
// is no YAML, or has no job or checkpoint.uri that could be one. NOT_FOUND: there is no such file.
struct JobPlace {
  std::string job;
  std::string checkpoint_uri;
};
absl::StatusOr<JobPlace> FindJob(const std::string& path,
                                 const std::vector<std::string>& overrides = {});

// Every key that job.yaml may have, as its reader reads it, sorted by name.
std::vector<JobKey> JobKeys();

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_CONFIG_H_
