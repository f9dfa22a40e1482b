// What some seconds of a job on this machine tell of the cost of its batches, for plans of the job
// at other scales. Pure functions.
#ifndef CAPSTAN_PLAN_MEASURED_RUN_H_
#define CAPSTAN_PLAN_MEASURED_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// One worker with one shard. All are means of a batch.
struct MeasuredRun {
  std::string origin;  // In words: when and on what machine.
  BatchTime batch;
  double worker_cpu_seconds = 0;  // The CPU time of the process, with computing and reading.
  double shard_cpu_seconds = 0;
  double worker_bytes = 0;  // Resident, at the end.
};

// Rates by which the job's batch costs what it did in the run: what bytes, rows, calls and floats
// cost is that of `rates`, multiplied by one factor for the worker and one for the shard. Where
// next to nothing is left beside computing, of which the rest is no measure, the factor is
// kLeastFactor at the least; kMostFactor, where the machine did much else meanwhile. The worker
// itself takes what it had beyond the arithmetic of the job, such as PyTorch and what a model
// computes with, and no less than `rates` say. `job` is as it was trained, with its tables and
// tensors; `facts` tell its keys_a_batch and record_bytes. INVALID_ARGUMENT: it cannot be laid out.
inline constexpr double kLeastFactor = 0.25;
inline constexpr double kMostFactor = 8;
absl::StatusOr<Rates> Calibrated(Rates rates, const v1::JobSpec& job, const DataFacts& facts,
                                 const MeasuredRun& run);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_MEASURED_RUN_H_
