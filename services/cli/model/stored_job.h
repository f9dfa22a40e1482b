// Reads a job from its folder, <checkpoint.uri>/<job>, without any process around it.
#ifndef CAPSTAN_CLI_MODEL_STORED_JOB_H_
#define CAPSTAN_CLI_MODEL_STORED_JOB_H_

#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

struct StoredJob {
  // The status as the chief would report it, but without workers and shards. A job that had not
  // ended is pending.
  v1::GetStatusReply status;
  // Where the job's last chief answered, HOST:PORT; empty: the stored state does not say.
  std::string chief;
};

// Reads what the chief of a job has stored last. `folder` is a path, file:// or s3://. NOT_FOUND:
// it holds no job. DATA_LOSS: the stored state is damaged. FAILED_PRECONDITION: a later version has
// stored it in a format that this program does not know.
absl::StatusOr<StoredJob> ReadStoredJob(const std::string& folder, absl::Time now);

// Returns the job as its chief has stored it, with the tensors that its first worker has declared.
// Errors as of ReadStoredJob.
absl::StatusOr<v1::JobSpec> StoredSpec(const std::string& folder);

// Returns the folder of the model that `uri` means. If `uri` holds a checkpoint or an exported
// model, that is `uri` itself. If it is a job's folder, or the job's folder of checkpoints, it is
// the model that the job has ended with, or else the newest checkpoint. NOT_FOUND, with what was
// expected: there is no model. Other errors: the store does not say what there is.
absl::StatusOr<std::string> ModelIn(const std::string& uri);

// Returns the ids of the checkpoints that the state of a job names and that must be kept: the
// newest, the best, the model that the job has ended with, and the one with which it was opened
// again. `checkpoints` is the job's folder of that name, or a link to it. Nothing: no job's state
// is beside the folder, so it is not known which are needed. Errors: the state cannot be read.
absl::StatusOr<std::optional<std::set<std::string>>> CheckpointsInUse(
    const std::string& checkpoints);

// Returns where a job has its checkpoints. `folder` is the job's.
std::string CheckpointsOf(const std::string& folder);

// Returns the last part of a path or an address, which for a job's folder is the job's name, and
// for a checkpoint's folder its id.
std::string NameOfFolder(const std::string& uri);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_STORED_JOB_H_
