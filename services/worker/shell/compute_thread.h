// The thread on which a trainer computes the job's towers.
#ifndef CAPSTAN_WORKER_SHELL_COMPUTE_THREAD_H_
#define CAPSTAN_WORKER_SHELL_COMPUTE_THREAD_H_

#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "capstan/model/network.h"
#include "capstan/rpc/event_loop.h"
#include "worker/shell/computer.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Thread-safe.
class ComputeThread final : public Computer {
 public:
  // `loop` must outlive this object.
  ComputeThread(std::unique_ptr<Network> network, ComputeOptions options, EventLoop& loop);
  ~ComputeThread() override;  // Waits until the step that is being computed is done.
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) override;

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
