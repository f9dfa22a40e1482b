// A job as it lies in its folder, <checkpoint.uri>/<job>, without any process around it.
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
  // As the chief would say it: without workers and shards. A job that had not ended is pending.
  v1::GetStatusReply status;
  std::string chief;  // Where its last chief answered, HOST:PORT; empty: its state does not say.
};

// What the chief of a job has stored last. `folder`: a path, file:// or s3://. NOT_FOUND: it holds
// no job. DATA_LOSS: what it holds is damaged.
absl::StatusOr<StoredJob> ReadStoredJob(const std::string& folder, absl::Time now);

// The job as its chief has stored it, with the tensors that its first worker has declared. Errors
// as above.
absl::StatusOr<v1::JobSpec> StoredSpec(const std::string& folder);

// The folder of the model that `uri` means: itself, if it holds a checkpoint or an exported model;
// of a job's folder, or that of its checkpoints, the model it has ended with, or else the newest
// checkpoint. NOT_FOUND, with what was expected, if there is none; another error, if the store does
// not say what there is.
absl::StatusOr<std::string> ModelIn(const std::string& uri);

// The ids of the checkpoints that the state of a job names, which it, or whoever uses its model,
// needs: the newest, the best, the model that it has ended with, and the one with which it was
// opened again. `checkpoints`: the job's folder of that name, or a link to it; nothing if no job's
// state is beside it, so nobody knows which are needed. Other errors: the state cannot be read.
absl::StatusOr<std::optional<std::set<std::string>>> CheckpointsInUse(
    const std::string& checkpoints);

// The last part of a path or an address: a job's folder has the job's name, a checkpoint's its id.
std::string NameOfFolder(const std::string& uri);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_STORED_JOB_H_
