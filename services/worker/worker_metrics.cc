#include "worker/worker_metrics.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/metrics/buckets.h"

namespace capstan::worker {
namespace {

metrics::Histogram& Phase(metrics::Registry& registry, const std::string& phase) {
  return registry.AddHistogram("capstan_worker_step_duration_seconds",
                               "Time of a step's phases; they overlap.", metrics::DurationBuckets(),
                               {{"phase", phase}});
}

// Powers of ten, as a gradient's norm spans many of them.
std::vector<double> NormBuckets() {
  return {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4};
}

}  // namespace

WorkerMetrics::WorkerMetrics(metrics::Registry& registry)
    : steps(
          registry.AddCounter("capstan_worker_steps_total", "Steps acknowledged by every shard.")),
      samples(registry.AddCounter("capstan_worker_samples_total",
                                  "Examples of the steps acknowledged.")),
      nonfinite(
          registry.AddCounter("capstan_worker_nonfinite_total",
                              "Steps not pushed because loss or gradient was NaN or infinite.")),
      late_gradients(registry.AddCounter("capstan_worker_late_gradients_total",
                                         "Gradients that came after their round was closed.")),
      leases_finished(registry.AddCounter("capstan_worker_leases_finished_total",
                                          "Leases whose work was finished.")),
      leases_lost(registry.AddCounter("capstan_worker_leases_lost_total",
                                      "Leases that passed to another worker.")),
      data_seconds(Phase(registry, "data")),
      pull_seconds(Phase(registry, "pull")),
      compute_seconds(Phase(registry, "compute")),
      push_seconds(Phase(registry, "push")),
      round_wait_seconds(registry.AddHistogram("capstan_worker_round_wait_seconds",
                                               "Wait of a lane for the next round to open.",
                                               metrics::WaitBuckets())),
      gradient_norm(registry.AddHistogram("capstan_worker_gradient_norm",
                                          "Euclidean norm of a step's gradient, before clipping.",
                                          NormBuckets())),
      leases_held(registry.AddGauge("capstan_worker_leases", "Leases held.")),
      bad_records(registry.AddGauge("capstan_worker_bad_records",
                                    "Records that could not be understood and were left out.")),
      registry_(registry) {}

void WorkerMetrics::CountRetry(ShardIndex shard, absl::StatusCode code) {
  metrics::Counter*& counter = retries_[{shard, code}];
  if (counter == nullptr) {
    counter = &registry_.AddCounter(
        "capstan_worker_rpc_retries_total", "Calls to a shard that failed and are tried again.",
        {{"shard", absl::StrCat(Raw(shard))}, {"code", absl::StatusCodeToString(code)}});
  }
  counter->Add();
}

}  // namespace capstan::worker
