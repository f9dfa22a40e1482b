// `capstan plan --measure`: what a batch of a job costs, by training it on this machine for a
// while.
#ifndef CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_
#define CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/plan/measured_run.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

struct MeasureOptions {
  std::string job;                     // Path of the job file.
  std::vector<std::string> overrides;  // key=value
  std::string worker;                  // The user's own program; empty: `worker`.
  std::string programs;                // The folder of chief, ps and worker.
  absl::Duration at_work = absl::Seconds(8);
};

struct MeasuredJob {
  MeasuredRun run;     // Without read_seconds, which the data tell.
  v1::JobSpec stored;  // The job as it was trained, with the tensors that a program has declared.
};

// Trains with one chief, shard and worker, warms up, watches for `at_work` and kFewestBatches at
// the least, stops all and leaves nothing behind: what is trained is thrown away, and the job's own
// checkpoint.uri is not touched. `job` is what the file says. Errors: ABORTED, if somebody dies or
// the job ends meanwhile, with the reason; CANCELLED by SIGINT or SIGTERM; DEADLINE_EXCEEDED, if it
// trains too slowly.
inline constexpr int kFewestBatches = 20;
absl::StatusOr<MeasuredJob> MeasureJob(const MeasureOptions& options, const v1::JobSpec& job);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_
