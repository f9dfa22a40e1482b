// `capstan plan --measure`: measures what a batch of a job costs by training the job on this
// machine for a while.
#ifndef CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_
#define CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/plan/measured_run.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
class Tls;
}

namespace capstan::cli {

struct MeasureOptions {
  std::string job;                     // Path of the job file.
  std::vector<std::string> overrides;  // key=value
  std::string worker;                  // The user's own program; empty: `worker`.
  std::string programs;                // The folder of chief, ps and worker.
  const Tls* identity = nullptr;       // What the chief is shown; null: plaintext.
  absl::Duration at_work = absl::Seconds(8);
};

struct MeasuredJob {
  MeasuredRun run;  // Without read_seconds, which are measured on the data.
  // The job as it was trained, with the tensors that a user's program has declared.
  v1::JobSpec stored;
};

// Trains with one chief, one shard and one worker, warms up, measures for at least `at_work` and
// kFewestBatches (run_meter.h), and stops all processes. The trained model is thrown away, and the
// job's own checkpoint.uri is not touched. `job` is what the file says. ABORTED, with the reason: a
// process dies or the job ends meanwhile. CANCELLED: SIGINT or SIGTERM. DEADLINE_EXCEEDED: the job
// trains too slowly.
absl::StatusOr<MeasuredJob> MeasureJob(const MeasureOptions& options, const v1::JobSpec& job);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_MEASURE_JOB_H_
