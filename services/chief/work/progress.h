// How far the job is, how fast it goes, and the loss of late.
#ifndef CAPSTAN_CHIEF_WORK_PROGRESS_H_
#define CAPSTAN_CHIEF_WORK_PROGRESS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"

namespace capstan::chief {

struct ProgressOptions {
  uint64_t loss_window = 1;  // Examples over which the loss is averaged, exponentially.
  absl::Duration rate_window = absl::Seconds(10);
};

// Thread-compatible.
class Progress {
 public:
  Progress(ProgressOptions options, absl::Time now) : options_(options), started_(now) {}

  // Examples newly acknowledged and the sum of their losses.
  void AddLoss(uint64_t examples, double loss_sum);

  // The totals as of now; examples never go back, for the learning rate follows them. Steps do
  // where workers have told of rounds that the coordinator has not closed.
  void Update(uint64_t examples, uint64_t steps, absl::Time now);

  // All is done, and its examples are counted: Update's totals take a batch under way for a full
  // one.
  void Settle(uint64_t examples) { examples_ = examples; }

  // True, and noted as written, when the learning curve wants a point: every second at first, later
  // whenever a hundredth of the time has gone by, so that a curve has at most some hundred points
  // per order of magnitude.
  bool TakeCurveDue(absl::Time now);

  uint64_t examples() const { return examples_; }
  uint64_t steps() const { return steps_; }
  // None before the first AddLoss: neither a checkpoint nor the chief's state keeps it.
  std::optional<double> loss() const;
  // The least that loss() has been once half the examples were in that it is averaged over; 0:
  // they are not yet.
  double least_loss() const { return least_loss_; }
  double examples_per_second() const;
  double elapsed_seconds(absl::Time now) const { return absl::ToDoubleSeconds(now - started_); }

  // Goes on from what a checkpoint or the chief's state says; they may go back here.
  void Restore(uint64_t examples, uint64_t steps, absl::Time now);

  // The clock starts when training does; it has run for so long under earlier chiefs.
  void Start(absl::Time now, absl::Duration before = absl::ZeroDuration()) {
    started_ = now - before;
  }

 private:
  struct Sample {
    absl::Time at;
    uint64_t examples = 0;
  };

  ProgressOptions options_;
  absl::Time started_;
  uint64_t examples_ = 0;
  uint64_t steps_ = 0;
  double loss_ = 0;    // Decayed sum over
  double weight_ = 0;  // this many examples.
  double least_loss_ = 0;
  std::deque<Sample> samples_;
  absl::Time curve_due_ = absl::InfinitePast();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_PROGRESS_H_
