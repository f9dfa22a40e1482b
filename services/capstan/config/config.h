// Reads job.yaml into a v1::JobSpec with every default filled in, or refuses it. docs/job-yaml.md
// is the reference of the keys. The parameters of the model (JobSpec.tables, .tensors) are not set
// here; capstan/model derives them from the result.
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
  // Such as "train.epochs=5": the value is YAML and replaces the file's.
  std::vector<std::string> overrides = {};
  // The lanes of a synchronous part that does not set `lanes`; 0: it must set them.
  uint32_t default_lanes = 0;
};

// Reads a job file. NOT_FOUND: there is no such file. INVALID_ARGUMENT: the file has mistakes. The
// message has one line for each, with its place and what was expected:
//
//   job.yaml:12: data.format: "cvs" is not one of csv, tsv, libsvm, libfm, idx, synthetic, ...; did
//   you mean csv?
//
// Relative paths in the file are relative to its folder; in the result they are absolute. Local
// data files must exist.
absl::StatusOr<v1::JobSpec> LoadJob(const std::string& path, const JobOptions& options = {});

// The same for a text. `name` is used as the file's name in messages, relative paths are below
// `folder`, and whether data files exist is not checked.
struct JobText {
  std::string text;
  std::string name = "job.yaml";
  std::string folder = {};
};
absl::StatusOr<v1::JobSpec> ParseJob(const JobText& job, const JobOptions& options = {});

// Finds the name of the job of a file, and where the job is stored, even if the file has mistakes
// elsewhere. INVALID_ARGUMENT: the file is not YAML, or has no valid job name. NOT_FOUND: there is
// no such file.
struct JobPlace {
  std::string job;
  std::string checkpoint_uri;  // Empty: the job is not stored.
};
absl::StatusOr<JobPlace> FindJob(const std::string& path,
                                 const std::vector<std::string>& overrides = {});

// Returns every key of job.yaml that is read, with its declaration and help, sorted by name.
std::vector<JobKey> JobKeys();

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_CONFIG_H_
