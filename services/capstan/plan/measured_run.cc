#include "capstan/plan/measured_run.h"

#include <algorithm>

#include "capstan/base/status.h"
#include "capstan/plan/memory.h"
#include "capstan/plan/step_time.h"
#include "capstan/plan/traffic.h"

namespace capstan {
namespace {

double FactorOf(double measured, double recorded) {
  if (recorded <= 0) return 1;
  return std::clamp(measured / recorded, kLeastFactor, kMostFactor);
}

}  // namespace

absl::StatusOr<Rates> Calibrated(Rates rates, const v1::JobSpec& job, const DataFacts& facts,
                                 const MeasuredRun& run) {
  CAPSTAN_ASSIGN_OR_RETURN(const Traffic traffic, TrafficOf(job, facts.keys_a_batch, /*shards=*/1));
  const Ends recorded = CpuOfTransfers(job, traffic, /*shards=*/1, rates);
  const double threads = std::max(1u, job.train().step_threads());
  const double computed = run.batch.compute_seconds * threads + run.batch.read_seconds;
  const double worker = FactorOf(run.worker_cpu_seconds - computed, recorded.worker_seconds);
  const double shard = FactorOf(run.shard_cpu_seconds, recorded.shard_seconds);
  for (Ends* const ends : {&rates.pulled_byte, &rates.pushed_byte, &rates.pulled_row,
                           &rates.pushed_row, &rates.call}) {
    ends->worker_seconds *= worker;
    ends->shard_seconds *= shard;
  }
  rates.added_float *= shard;
  rates.applied_float *= shard;
  for (auto& [name, seconds] : rates.applied) seconds *= shard;
  CAPSTAN_ASSIGN_OR_RETURN(const Sizes counted, SizesOf(job, traffic, facts, /*scale=*/{}, {}));
  rates.worker_bytes =
      std::max(rates.worker_bytes, run.worker_bytes - static_cast<double>(counted.worker.bytes()));
  rates.batches[job.job()] = run.batch;
  rates.origin = run.origin;
  return rates;
}

}  // namespace capstan
