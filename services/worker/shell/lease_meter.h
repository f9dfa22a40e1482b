// What the steps of a lease cost and what becomes of them: as metrics, and as the moving averages
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

// The meter writes the marks and push_began of steps, and only reads the rest of them. Confined to
// the event loop.
class LeaseMeter {
 public:
  // `times` and `metrics` must outlive the meter.
  LeaseMeter(v1::LeaseKind kind, StepTimes& times, WorkerMetrics& metrics)
      : kind_(kind), times_(times), metrics_(metrics) {}

  // ---- the way of a step ----

  // The step's batch was asked for at `asked`, and has been read at `now`.
  void OnRead(Step& step, absl::Time asked, absl::Time now);
  // The step waits for its pulls from now on; its later pulls change nothing.
  void OnPullBegun(Step& step, absl::Time now);
  void OnPulled(Step& step, absl::Time now) { step.marks.pulled = now; }
  // All that the step needs has been pulled; it is to be computed.
  void OnReady(const Step& step);
  void OnComputed(const Step& step);
  // The step is pushed; its later pushes change nothing.
  void OnPushBegun(Step& step, absl::Time now);
  // Every shard has acknowledged the step. Steps of an evaluation train nothing, and are not
  // counted.
  void OnSettled(const Step& step, absl::Time now);

  // ---- the lease ----

  // A round that was asked for at `asked` is open at `now`.
  void OnRoundOpen(absl::Time asked, absl::Time now);
  // `late`: how many gradients of the lease have come too late up to now.
  void OnLate(uint64_t late);
  void OnFinished(bool lost) { (lost ? metrics_.leases_lost : metrics_.leases_finished).Add(); }

 private:
  bool evaluates() const { return kind_ == v1::LEASE_KIND_EVALUATION; }

  const v1::LeaseKind kind_;
  StepTimes& times_;
  WorkerMetrics& metrics_;
  uint64_t late_ = 0;  // Late gradients counted so far.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_METER_H_
