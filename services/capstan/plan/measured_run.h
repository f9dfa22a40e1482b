// Derives the cost of a job's batches from a short run of the job on this machine, for plans of the
// job at other scales. Pure functions.
#ifndef CAPSTAN_PLAN_MEASURED_RUN_H_
#define CAPSTAN_PLAN_MEASURED_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The measurements of one worker with one shard. Times are means per batch.
struct MeasuredRun {
  std::string origin;  // In words: when and on what machine.
  BatchTime batch;
  // The CPU time of the worker process, including computing and reading.
  double worker_cpu_seconds = 0;
  double shard_cpu_seconds = 0;
  double worker_bytes = 0;  // Resident memory of the worker at the end.
};

// Returns rates with which the job's batch costs what it did in the run: the costs of bytes, rows,
// calls and floats in `rates`, multiplied by one factor for the worker and one for the shard. The
// factors are at least kLeastFactor, because a small remainder beside computing is not a good
// measurement, and at most kMostFactor, because the machine may have been busy with other work. The
// worker's base memory becomes what it took beyond the calculated memory of the job, such as
// PyTorch, but at least that of `rates`. `job` is as it was trained, with its tables and tensors;
// `facts` has its keys_a_batch and record_bytes. INVALID_ARGUMENT: the job cannot be laid out.
inline constexpr double kLeastFactor = 0.25;
inline constexpr double kMostFactor = 8;
absl::StatusOr<Rates> Calibrated(Rates rates, const v1::JobSpec& job, const DataFacts& facts,
                                 const MeasuredRun& run);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_MEASURED_RUN_H_
