// Computes the steps of a trainer: the job's towers on a thread of the worker, or the user's own
// program. Meanwhile the event loop receives the next batch's parameters and sends the last one's
// gradients.
#ifndef CAPSTAN_WORKER_SHELL_COMPUTER_H_
#define CAPSTAN_WORKER_SHELL_COMPUTER_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "worker/shell/step.h"

namespace capstan::worker {

struct ComputeOptions {
  double clip_norm = 0;
  // Each computation takes at least so long, by sleeping, so that the pace depends on no machine.
  absl::Duration min_step;
};

// Thread-safe; the results arrive on the event loop.
class Computer {
 public:
  enum class Kind { kGradients, kLogits };

  // Drops the steps that are queued. `done` of a step that is being computed may still run after
  // this.
  virtual ~Computer() = default;

  // Computes `step` after all steps submitted before; `done` then runs on the event loop. The queue
  // is bounded by the leases of the trainer: a lane has at most one step here, an evaluation two, a
  // task one more than train.push_window.
  virtual void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_COMPUTER_H_
