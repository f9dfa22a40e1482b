// How far the job is, how fast it goes, and its recent training loss.
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

  // Takes in the number of newly settled examples, and the sum of their losses.
  void AddLoss(uint64_t examples, double loss_sum);

  // Sets the totals as of `now`. Examples never go back, for the learning rate follows them. Steps
  // go back if workers have reported rounds that the coordinator has not closed.
  void Update(uint64_t examples, uint64_t steps, absl::Time now);

  // All is done: sets the exact number of examples. Until then totals count each batch of an open
  // task as a full one.
  void Settle(uint64_t examples) { examples_ = examples; }

  // Returns true, and counts the point as written, when the learning curve is to get a point: every
  // second at first, later whenever a hundredth of the elapsed time has passed, so that a curve has
  // at most a few hundred points per order of magnitude.
  bool TakeCurveDue(absl::Time now);

  uint64_t examples() const { return examples_; }
  uint64_t steps() const { return steps_; }
  // The mean loss over the last examples. Nothing before the first AddLoss: neither a checkpoint
  // nor the chief's state keeps it.
  std::optional<double> loss() const;
  // The least loss() so far, from when it was averaged over half of loss_window; 0 before that.
  double least_loss() const { return least_loss_; }
  double examples_per_second() const;
  double elapsed_seconds(absl::Time now) const { return absl::ToDoubleSeconds(now - started_); }

  // Goes on from what a checkpoint or the chief's state says. Here examples may go back.
  void Restore(uint64_t examples, uint64_t steps, absl::Time now);

  // Starts the clock of elapsed_seconds, when training starts. It has run for `before` under
  // earlier chiefs.
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
