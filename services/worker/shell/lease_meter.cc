#include "worker/shell/lease_meter.h"

#include <algorithm>

#include "worker/shell/idle_time.h"

namespace capstan::worker {
namespace {

void Count(absl::Duration time, MovingAverage& average, metrics::Histogram& histogram) {
  average.Add(time);
  histogram.Observe(absl::ToDoubleSeconds(time));
}

}  // namespace

void LeaseMeter::OnRead(Step& step, absl::Time asked, absl::Time now) {
  Count(now - asked, times_.data, metrics_.data_seconds);
  step.marks.asked = asked;
  step.marks.read = now;
}

void LeaseMeter::OnPullBegun(Step& step, absl::Time now) {
  if (step.marks.pull_began == absl::InfinitePast()) step.marks.pull_began = now;
}

// Counts the time up to the last answer, not up to now: the pulled step may have waited for the
// computation of the one before.
void LeaseMeter::OnReady(const Step& step) {
  const absl::Duration pulled = step.marks.pulled - step.marks.pull_began;
  Count(std::max(absl::ZeroDuration(), pulled), times_.pull, metrics_.pull_seconds);
}

void LeaseMeter::OnComputed(const Step& step) {
  Count(step.compute_time, times_.compute, metrics_.compute_seconds);
  metrics_.CountIdle(DivideIdle(step.marks), kind_ == v1::LEASE_KIND_LANE);
  if (evaluates()) {
    metrics_.evaluated_samples.Add(static_cast<double>(step.batch->examples()));
    return;
  }
  metrics_.gradient_norm.Observe(step.gradient_norm);
  if (step.clipped) metrics_.clipped.Add();
  if (step.nonfinite) metrics_.nonfinite.Add();
}

void LeaseMeter::OnPushBegun(Step& step, absl::Time now) {
  if (step.push_began == absl::InfinitePast()) step.push_began = now;
}

void LeaseMeter::OnSettled(const Step& step, absl::Time now) {
  if (evaluates()) return;
  if (step.push_began != absl::InfinitePast()) {
    Count(now - step.push_began, times_.push, metrics_.push_seconds);
  }
  metrics_.steps.Add();
  metrics_.samples.Add(static_cast<double>(step.batch->examples()));
}

void LeaseMeter::OnRoundOpen(absl::Time asked, absl::Time now) {
  Count(now - asked, times_.round_wait, metrics_.round_wait_seconds);
}

void LeaseMeter::OnLate(uint64_t late) {
  metrics_.late_gradients.Add(static_cast<double>(late - late_));
  late_ = late;
}

}  // namespace capstan::worker
