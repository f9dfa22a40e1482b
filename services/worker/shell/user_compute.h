// Steps that the user's own program computes: it asks for the next one, on whichever thread it
// likes, and hands back what came out. No thread of ours ever calls it.
#ifndef CAPSTAN_WORKER_SHELL_USER_COMPUTE_H_
#define CAPSTAN_WORKER_SHELL_USER_COMPUTE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/computer.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// The steps of all trainers of a process, in the order in which they were submitted. Thread-safe.
class UserSteps {
 public:
  // A step that has been taken. Its memory is valid for as long as `step` is held, whatever becomes
  // of the worker meanwhile.
  struct Taken {
    std::shared_ptr<Step> step;
    Computer::Kind kind{};
    uint64_t number = 0;  // Among all that have been taken.
  };

  explicit UserSteps(const Clock& clock) : clock_(clock) {}  // Must outlive it.

  // The next step; nothing: none has come within `timeout`, or none will come any more.
  std::optional<Taken> Take(absl::Duration timeout);

  // The results lie in the step (StepGradients; logits). Goes nowhere if the lease is gone. The
  // caller may go on reading what it was given, and must not write any more.
  void Finish(Taken taken);
  // The program has failed at this step; `then` runs when its lease knows, or if it is gone. False:
  // the step had been handed back before, and nothing comes of this.
  bool Fail(Taken taken, v1::UserCodeError error, absl::AnyInvocable<void()> then);

  // The step that the program has had for the longest time, if that is `limit` or more.
  std::optional<Taken> Overdue(absl::Duration limit) const;

  // None will come any more.
  void Close();
  bool closed() const;

 private:
  friend class UserCompute;

  // A step that a computer has handed to the user's program and waits for.
  struct Submitted {
    std::shared_ptr<Step> step;
    Computer::Kind kind{};
    uint64_t computer = 0;
    absl::AnyInvocable<void()> done;
  };

  // Takes the step away from the program. Returns nothing if the program did not have it.
  std::optional<Submitted> TakeBack(const Taken& taken);
  // Hands the step to the event loop of its computer. Returns false if that is gone.
  bool HandBack(Submitted submitted);
  uint64_t Join(EventLoop& loop);
  void Leave(uint64_t computer);
  void Add(uint64_t computer, std::shared_ptr<Step> step, Computer::Kind kind,
           absl::AnyInvocable<void()> done);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return closed_ || !queue_.empty(); }

  const Clock& clock_;
  mutable absl::Mutex mu_;
  std::deque<Submitted> queue_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Submitted> taken_ ABSL_GUARDED_BY(mu_);  // By their numbers.
  uint64_t last_taken_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, EventLoop*> computers_ ABSL_GUARDED_BY(mu_);  // Those that are there.
  uint64_t last_computer_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time idle_from_ ABSL_GUARDED_BY(mu_) = clock_.Now();
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

// One trainer's. Thread-safe.
class UserCompute final : public Computer {
 public:
  // Both must outlive it.
  UserCompute(UserSteps& steps, EventLoop& loop) : steps_(steps), id_(steps.Join(loop)) {}
  ~UserCompute() override { steps_.Leave(id_); }  // What is taken comes to nothing.
  UserCompute(const UserCompute&) = delete;
  UserCompute& operator=(const UserCompute&) = delete;

  void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) override;

 private:
  UserSteps& steps_;
  const uint64_t id_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_USER_COMPUTE_H_
