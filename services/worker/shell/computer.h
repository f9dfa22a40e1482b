// Who computes the steps of a trainer: towers of ours on a thread, or the user's own program. The
// event loop goes on meanwhile: it receives the next batch's parameters and sends the last one's
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
  // Each computation takes at least so long, by sleeping: a pace that depends on no machine.
  absl::Duration min_step;
};

// Thread-safe; the results arrive on the event loop.
class Computer {
 public:
  enum class Kind { kGradients, kLogits };

  // Drops what is queued. `done` of a step that is being computed may run after this.
  virtual ~Computer() = default;

  // Steps are computed in the order given; `done` runs on the event loop. The queue is bounded by
  // the leases of the trainer, each of which has one step here at most.
  virtual void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_COMPUTER_H_
