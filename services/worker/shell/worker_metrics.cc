#include "worker/shell/worker_metrics.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/metrics/buckets.h"
#include "worker/shell/worker_metric_declarations.h"

namespace capstan::worker {
namespace {

metrics::Histogram& Phase(metrics::Registry& registry, const std::string& phase) {
  return registry.AddHistogram(metric::kWorkerStepDurationSeconds, metrics::DurationBuckets(),
                               {{"phase", phase}});
}

metrics::Counter& Idle(metrics::Registry& registry, const std::string& awaited) {
  return registry.AddCounter(metric::kWorkerIdleSeconds, {{"awaited", awaited}});
}

// Powers of ten, because the norms of gradients span many of them.
std::vector<double> NormBuckets() {
  return {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4};
}

}  // namespace

WorkerMetrics::WorkerMetrics(metrics::Registry& registry)
    : steps(registry.AddCounter(metric::kWorkerSteps)),
      samples(registry.AddCounter(metric::kWorkerSamples)),
      evaluated_samples(registry.AddCounter(metric::kWorkerEvaluatedSamples)),
      nonfinite(registry.AddCounter(metric::kWorkerNonfinite)),
      clipped(registry.AddCounter(metric::kWorkerClippedGradients)),
      late_gradients(registry.AddCounter(metric::kWorkerLateGradients)),
      leases_finished(registry.AddCounter(metric::kWorkerLeasesFinished)),
      leases_lost(registry.AddCounter(metric::kWorkerLeasesLost)),
      data_seconds(Phase(registry, "data")),
      pull_seconds(Phase(registry, "pull")),
      compute_seconds(Phase(registry, "compute")),
      push_seconds(Phase(registry, "push")),
      round_wait_seconds(
          registry.AddHistogram(metric::kWorkerRoundWaitSeconds, metrics::WaitBuckets())),
      gradient_norm(registry.AddHistogram(metric::kWorkerGradientNorm, NormBuckets())),
      leases_held(registry.AddGauge(metric::kWorkerLeases)),
      compute_threads(registry.AddGauge(metric::kWorkerComputeThreads)),
      data_stalled_seconds(registry.AddGauge(metric::kWorkerDataStalledSeconds)),
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
        metric::kWorkerRpcRetries,
        {{"shard", absl::StrCat(Raw(shard))}, {"code", absl::StatusCodeToString(code)}});
  }
  counter->Add();
}

}  // namespace capstan::worker
