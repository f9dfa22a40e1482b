#include "worker/shell/worker_metrics.h"

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

metrics::Counter& Idle(metrics::Registry& registry, const std::string& awaited) {
  return registry.AddCounter("capstan_worker_idle_seconds_total",
                             "Time in which a compute thread stood, by what it waited for.",
                             {{"awaited", awaited}});
}

// Powers of ten, because the norms of gradients span many of them.
std::vector<double> NormBuckets() {
  return {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4};
}

}  // namespace

WorkerMetrics::WorkerMetrics(metrics::Registry& registry)
    : steps(
          registry.AddCounter("capstan_worker_steps_total", "Steps acknowledged by every shard.")),
      samples(registry.AddCounter("capstan_worker_samples_total",
                                  "Examples of the steps acknowledged.")),
      evaluated_samples(registry.AddCounter("capstan_worker_evaluated_samples_total",
                                            "Examples that evaluations have scored.")),
      nonfinite(
          registry.AddCounter("capstan_worker_nonfinite_total",
                              "Steps not pushed because loss or gradient was NaN or infinite.")),
      clipped(registry.AddCounter("capstan_worker_clipped_gradients_total",
                                  "Gradients that were longer than clip_norm, and shortened.")),
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
      compute_threads(registry.AddGauge("capstan_worker_compute_threads", "Compute threads.")),
      data_stalled_seconds(
          registry.AddGauge("capstan_worker_data_stalled_seconds",
                            "For how long the same read of the data has been under way.")),
      registry_(registry),
      idle_for_work_(Idle(registry, "work")),
      idle_for_data_(Idle(registry, "data")),
      idle_for_round_(Idle(registry, "round")),
      idle_for_push_(Idle(registry, "push")),
      idle_for_pull_(Idle(registry, "pull")) {}

void WorkerMetrics::CountIdle(const IdleTime& idle, bool of_lane) {
  idle_for_work_.Add(absl::ToDoubleSeconds(idle.work));
  idle_for_data_.Add(absl::ToDoubleSeconds(idle.data));
  (of_lane ? idle_for_round_ : idle_for_push_).Add(absl::ToDoubleSeconds(idle.turn));
  idle_for_pull_.Add(absl::ToDoubleSeconds(idle.pull));
}

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
