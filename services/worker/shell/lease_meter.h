// What the steps of a lease cost and what becomes of them, as metrics and as the moving averages
// that heartbeats report.
#ifndef CAPSTAN_WORKER_SHELL_LEASE_METER_H_
#define CAPSTAN_WORKER_SHELL_LEASE_METER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/step.h"
#include "worker/shell/step_times.h"
#include "worker/shell/worker_metrics.h"

namespace capstan::worker {

// It writes the marks of steps, and reads all else of them. Confined to the event loop.
class LeaseMeter {
 public:
  // `times` and `metrics` must outlive the meter.
  LeaseMeter(v1::LeaseKind kind, StepTimes& times, WorkerMetrics& metrics)
      : kind_(kind), times_(times), metrics_(metrics) {}

  // ---- the way of a step ----

  // Its batch was asked for at `asked`, and is there now.
  void OnRead(Step& step, absl::Time asked, absl::Time now);
  // A step waits from its first pull until the last one is answered.
  void OnPullBegun(Step& step, absl::Time now);
  void OnPulled(Step& step, absl::Time now) { step.marks.pulled = now; }
  // All that it needs is there: it is to be computed.
  void OnReady(const Step& step);
  void OnComputed(const Step& step);
  // The step is pushed; its later pushes change nothing.
  void OnPushBegun(Step& step, absl::Time now);
  // Every shard has acknowledged it. Those of an evaluation train nothing, and do not count.
  void OnSettled(const Step& step, absl::Time now);

  // ---- the lease ----

  void OnRoundAsked(absl::Time now) { round_asked_ = now; }
  void OnRoundOpen(absl::Time now);
  // So many gradients of the lease have come too late up to now.
  void OnLate(uint64_t late);
  void OnFinished(bool lost) { (lost ? metrics_.leases_lost : metrics_.leases_finished).Add(); }

 private:
  bool evaluates() const { return kind_ == v1::LEASE_KIND_EVALUATION; }

  const v1::LeaseKind kind_;
  StepTimes& times_;
  WorkerMetrics& metrics_;
  absl::Time round_asked_;
  uint64_t late_ = 0;  // Counted so far.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_METER_H_
