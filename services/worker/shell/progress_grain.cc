#include "worker/shell/progress_grain.h"

#include <algorithm>

namespace capstan::worker {
namespace {

constexpr uint64_t kStepsOfACourse = 64;
constexpr uint64_t kFar = uint64_t{1} << 40;

class Shortest {
 public:
  void Take(uint64_t examples) {
    if (examples > 0) examples_ = std::min(examples_, examples);
  }
  void Take(const v1::ScheduleSpec& schedule) {
    Take(schedule.warmup_examples());
    if (schedule.kind() != v1::SCHEDULE_KIND_UNSPECIFIED) Take(schedule.decay_examples());
  }
  uint64_t examples() const { return examples_ == kNone ? 0 : examples_; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t examples_ = kNone;
};

}  // namespace

uint64_t ProgressGrain(const v1::JobSpec& job) {
  Shortest course;
  if (job.sparse_update().kind() != v1::POLICY_KIND_SYNC) {
    for (const v1::TableSpec& table : job.tables()) {
      course.Take(table.optimizer().schedule());
      course.Take(table.expire_after_examples());
    }
  }
  if (job.dense_update().kind() != v1::POLICY_KIND_SYNC) {
    for (const v1::TensorSpec& tensor : job.tensors()) course.Take(tensor.optimizer().schedule());
  }
  course.Take(std::min(job.train().max_steps(), kFar) * job.train().batch_size());
  return course.examples() == 0 ? 0 : std::max<uint64_t>(course.examples() / kStepsOfACourse, 1);
}

}  // namespace capstan::worker
