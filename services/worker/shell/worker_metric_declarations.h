// The metrics that a worker exports (worker_metrics.h): what each tells and what is normal, of
// which docs/generate_metrics makes the page docs/metrics.md.
#ifndef CAPSTAN_WORKER_SHELL_WORKER_METRIC_DECLARATIONS_H_
#define CAPSTAN_WORKER_SHELL_WORKER_METRIC_DECLARATIONS_H_

#include "capstan/metrics/declaration.h"

namespace capstan::worker::metric {

inline constexpr metrics::CounterDeclaration kWorkerSteps = {
    .name = "capstan_worker_steps_total",
    .help = "Steps acknowledged by every shard.",
    .normal = "grows"};

inline constexpr metrics::CounterDeclaration kWorkerSamples = {
    .name = "capstan_worker_samples_total",
    .help = "Examples of the steps acknowledged.",
    .normal = "grows"};

inline constexpr metrics::CounterDeclaration kWorkerEvaluatedSamples = {
    .name = "capstan_worker_evaluated_samples_total",
    .help = "Examples that evaluations have scored.",
    .normal = "grows while evaluating"};

inline constexpr metrics::HistogramDeclaration kWorkerStepDurationSeconds = {
    .name = "capstan_worker_step_duration_seconds",
    .help =
        "Time of a step's phases; they overlap, so that a long one (data, pull, compute, "
        "push) costs something only where computing waits for it.",
    .labels = "phase",
    .normal = "compute the largest"};

inline constexpr metrics::CounterDeclaration kWorkerIdleSeconds = {
    .name = "capstan_worker_idle_seconds_total",
    .help =
        "Time in which a compute thread stood, by what it waited for before the next step: "
        "work (a lease), data, round (sync), push (of steps before), pull. Counted when it "
        "computes again.",
    .labels = "awaited",
    .normal = "small beside the compute phase; the largest is the bottleneck"};

inline constexpr metrics::GaugeDeclaration kWorkerComputeThreads = {
    .name = "capstan_worker_compute_threads", .help = "Compute threads."};

inline constexpr metrics::HistogramDeclaration kWorkerRoundWaitSeconds = {
    .name = "capstan_worker_round_wait_seconds",
    .help = "Wait of a lane for the next round to open (sync).",
    .normal = "below a step"};

inline constexpr metrics::HistogramDeclaration kWorkerGradientNorm = {
    .name = "capstan_worker_gradient_norm",
    .help = "Euclidean norm of a step's gradient, before clipping.",
    .normal = "steady or falling"};

inline constexpr metrics::CounterDeclaration kWorkerClippedGradients = {
    .name = "capstan_worker_clipped_gradients_total",
    .help = "Gradients that were longer than clip_norm, and shortened to it (`train.clip_norm`).",
    .normal = "0 without it; few with it"};

inline constexpr metrics::CounterDeclaration kWorkerNonfinite = {
    .name = "capstan_worker_nonfinite_total",
    .help = "Steps not pushed because loss or gradient was NaN or infinite.",
    .normal = "0"};

inline constexpr metrics::CounterDeclaration kWorkerLateGradients = {
    .name = "capstan_worker_late_gradients_total",
    .help = "Gradients that came after their round was closed (sync with backup workers).",
    .normal = "0 on all but slow workers"};

inline constexpr metrics::GaugeDeclaration kWorkerDataStalledSeconds = {
    .name = "capstan_worker_data_stalled_seconds",
    .help = "Time for which the same read of the data has been under way.",
    .normal = "below a second"};

inline constexpr metrics::GaugeDeclaration kWorkerLeases = {
    .name = "capstan_worker_leases",
    .help = "Leases held.",
    .normal = "at most 2 a compute thread; sync: its lanes"};

inline constexpr metrics::CounterDeclaration kWorkerLeasesFinished = {
    .name = "capstan_worker_leases_finished_total",
    .help = "Leases whose work was finished.",
    .normal = "grows"};

inline constexpr metrics::CounterDeclaration kWorkerLeasesLost = {
    .name = "capstan_worker_leases_lost_total",
    .help = "Leases that passed to another worker.",
    .normal = "0"};

inline constexpr metrics::CounterDeclaration kWorkerRpcRetries = {
    .name = "capstan_worker_rpc_retries_total",
    .help = "Calls to a shard that failed and are tried again.",
    .labels = "code, shard",
    .when = "after a retry",
    .normal = "0 unless a shard is away"};

}  // namespace capstan::worker::metric

#endif  // CAPSTAN_WORKER_SHELL_WORKER_METRIC_DECLARATIONS_H_
