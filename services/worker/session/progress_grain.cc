#include "worker/session/progress_grain.h"

#include <algorithm>
#include <limits>

namespace capstan::worker {
namespace {

constexpr uint64_t kStepsOfASpan = 64;
constexpr uint64_t kFar = uint64_t{1} << 40;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

}  // namespace

void ProgressGrain::Add(uint64_t length, uint64_t until) {
  if (length > 0) spans_.push_back({length, until});
}

// Step and exponential decays go on for ever; a cosine decay ends at its floor.
void ProgressGrain::Add(const v1::ScheduleSpec& schedule) {
  Add(schedule.warmup_examples(), schedule.warmup_examples());
  if (schedule.kind() == v1::SCHEDULE_KIND_UNSPECIFIED) return;
  const bool ends = schedule.kind() == v1::SCHEDULE_KIND_COSINE;
  Add(schedule.decay_examples(),
      ends ? schedule.warmup_examples() + schedule.decay_examples() : kNever);
}

ProgressGrain::ProgressGrain(const v1::JobSpec& job) {
  if (job.sparse_update().kind() != v1::POLICY_KIND_SYNC) {
    for (const v1::TableSpec& table : job.tables()) {
      Add(table.optimizer().schedule());
      Add(table.expire_after_examples(), kNever);
    }
  }
  if (job.dense_update().kind() != v1::POLICY_KIND_SYNC) {
    for (const v1::TensorSpec& tensor : job.tensors()) Add(tensor.optimizer().schedule());
  }
  Add(std::min(job.train().max_steps(), kFar) * job.train().batch_size(), kNever);
}

uint64_t ProgressGrain::At(uint64_t examples) const {
  uint64_t shortest = kNever;
  for (const Span& span : spans_) {
    if (examples < span.until) shortest = std::min(shortest, span.length);
  }
  return shortest == kNever ? 0 : std::max<uint64_t>(shortest / kStepsOfASpan, 1);
}

}  // namespace capstan::worker
