// How far the job has come, its speed, and its recent training loss.
#ifndef CAPSTAN_CHIEF_WORK_PROGRESS_H_
#define CAPSTAN_CHIEF_WORK_PROGRESS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"

namespace capstan::chief {

struct ProgressOptions {
  uint64_t loss_window = 1;  // Examples over which the loss is (exponentially) averaged.
  absl::Duration rate_window = absl::Seconds(10);
};

// Thread-compatible.
class Progress {
 public:
  Progress(ProgressOptions options, absl::Time now) : options_(options), started_(now) {}

  // Takes in the number of newly settled examples, and the sum of their losses.
  void AddLoss(uint64_t examples, double loss_sum);

  // Sets the totals as of `now`. A smaller number of examples is ignored, because learning rates
  // follow it. Steps may decrease, if workers have reported rounds that the coordinator has not
  // closed.
  void Update(uint64_t examples, uint64_t steps, absl::Time now);

  // Training is complete: sets the exact number of examples. Until then each batch of an unfinished
  // task counts as a full one.
  void Settle(uint64_t examples) { examples_ = examples; }

  // Returns true if a point should be added to the learning curve, and assumes that it is. A point
  // is due every second at first, and later whenever a hundredth of the elapsed time has passed, so
  // that a curve has at most a few hundred points per order of magnitude.
  bool TakeCurveDue(absl::Time now);

  uint64_t examples() const { return examples_; }
  uint64_t steps() const { return steps_; }
  // The mean loss over the last examples. nullopt before the first AddLoss: it is not part of a
  // checkpoint or the chief's state.
  std::optional<double> loss() const;
  // The lowest loss() so far, considered once it is averaged over half of loss_window; 0 before.
  double least_loss() const { return least_loss_; }
  double examples_per_second() const;
  double elapsed_seconds(absl::Time now) const { return absl::ToDoubleSeconds(now - started_); }

  // Continues from a checkpoint or the chief's state. Here the number of examples may decrease.
  void Restore(uint64_t examples, uint64_t steps, absl::Time now);

  // Training starts: begins to count elapsed_seconds, at `before`, the time under earlier chiefs.
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
  double loss_ = 0;    // Decayed sum of the losses of
  double weight_ = 0;  // this (decayed) number of examples.
  double least_loss_ = 0;
  std::deque<Sample> samples_;
  absl::Time curve_due_ = absl::InfinitePast();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_PROGRESS_H_
