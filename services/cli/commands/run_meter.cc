#include "cli/commands/run_meter.h"

#include <utility>

namespace capstan::cli {

void RunMeter::BeginAgain(absl::Time now) {
  warm_at_ = now + kWarmUp;
  first_.reset();
  compute_seconds_ = 0;
  reports_ = 0;
}

bool RunMeter::See(const v1::GetStatusReply& status, absl::Time now,
                   absl::FunctionRef<CrewUsage()> usage) {
  const uint64_t before = std::exchange(heard_, status.examples());
  if (heard_ == before) return false;
  if (before == 0 || heard_ < before) BeginAgain(now);
  if (now < warm_at_) return false;
  const Point point = {.time = now, .examples = heard_, .usage = usage()};
  if (first_ && (point.usage.worker_cpu < last_.usage.worker_cpu ||
                 point.usage.shard_cpu < last_.usage.shard_cpu)) {
    BeginAgain(now);
    return false;
  }
  if (!first_) first_ = point;
  last_ = point;
  for (const v1::WorkerStatus& worker : status.workers()) {
    compute_seconds_ += worker.report().compute_seconds();
    ++reports_;
  }
  return reports_ > 0 && now - first_->time >= at_work_ && batches() >= kFewestBatches;
}

MeasuredRun RunMeter::Result() const {
  return {.batch = {.compute_seconds = compute_seconds_ / reports_},
          .worker_cpu_seconds = (last_.usage.worker_cpu - first_->usage.worker_cpu) / batches(),
          .shard_cpu_seconds = (last_.usage.shard_cpu - first_->usage.shard_cpu) / batches(),
          .worker_bytes = last_.usage.worker_bytes};
}

double RunMeter::batches() const {
  return static_cast<double>(last_.examples - first_->examples) / static_cast<double>(batch_size_);
}

}  // namespace capstan::cli
