// The thread on which a trainer computes. The event loop goes on meanwhile: it receives the next
// batch's parameters and sends the last one's gradients.
#ifndef CAPSTAN_WORKER_SHELL_COMPUTE_THREAD_H_
#define CAPSTAN_WORKER_SHELL_COMPUTE_THREAD_H_

#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/model/network.h"
#include "capstan/rpc/event_loop.h"
#include "worker/shell/step.h"

namespace capstan::worker {

struct ComputeOptions {
  double clip_norm = 0;
  // Each computation takes at least so long, by sleeping: a pace that depends on no machine.
  absl::Duration min_step;
};

// Thread-safe; the results arrive on the event loop.
class ComputeThread {
 public:
  enum class Kind { kGradients, kLogits };

  // `loop` must outlive this object.
  ComputeThread(std::unique_ptr<Network> network, ComputeOptions options, EventLoop& loop);
  ~ComputeThread();  // Finishes the step it is at; what is queued is dropped.
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // Steps are computed in the order given; `done` runs on the event loop. The queue is bounded by
  // the leases of the trainer, each of which has one step here at most.
  void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done);

 private:
  struct Job {
    std::shared_ptr<Step> step;
    Kind kind{};
    absl::AnyInvocable<void()> done;
  };
  void Run();
  void Compute(Job& job);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !jobs_.empty(); }

  const std::unique_ptr<Network> network_;
  const ComputeOptions options_;
  EventLoop& loop_;
  absl::Mutex mu_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_COMPUTE_THREAD_H_
