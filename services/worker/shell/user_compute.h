// Steps that the user's own program computes: the program takes the next one, on whichever of its
// threads it likes, and hands back the results. No thread of the worker ever calls the program.
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
  // A step that the program has taken. Its memory is valid for as long as `step` is held, even if
  // the worker is gone meanwhile.
  struct Taken {
    std::shared_ptr<Step> step;
    Computer::Kind kind{};
    uint64_t number = 0;  // Counts all steps ever taken.
  };

  explicit UserSteps(const Clock& clock) : clock_(clock) {}  // `clock` must outlive this object.

  // Waits for the next step and returns it; nullopt if none has come within `timeout`, or after
  // Close().
  std::optional<Taken> Take(absl::Duration timeout);

  // The program has written the results into the step (by StepGradients, or into its logits), or
  // `write` does, which the step's event loop runs before it goes on with the step. Does nothing if
  // the step was handed back before or its lease is gone, and then drops `write`. The caller may go
  // on reading the step once the results are written, but must not write to it any more.
  void Finish(
      Taken taken, absl::AnyInvocable<void()> write = [] {});
  // The program has failed at this step. `then` runs once the step's lease knows of it, or at once
  // if the lease is gone. Returns false, and does nothing, if the step was handed back before.
  bool Fail(Taken taken, v1::UserCodeError error, absl::AnyInvocable<void()> then);

  // Whether the program has failed at a step.
  bool failed() const;

  // Returns the step that the program has had for the longest time, if that is `limit` or more.
  std::optional<Taken> Overdue(absl::Duration limit) const;

  // Drops the steps that wait; none will come any more.
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
  // Hands the step to the event loop of its computer. Returns false if the computer is gone.
  bool HandBack(Submitted submitted);
  uint64_t Join(EventLoop& loop);
  void Leave(uint64_t computer);
  void Add(uint64_t computer, std::shared_ptr<Step> step, Computer::Kind kind,
           absl::AnyInvocable<void()> done);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return closed_ || !queue_.empty(); }

  const Clock& clock_;
  mutable absl::Mutex mu_;
  std::deque<Submitted> queue_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Submitted> taken_ ABSL_GUARDED_BY(mu_);  // By Taken::number.
  uint64_t last_taken_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, EventLoop*> computers_ ABSL_GUARDED_BY(mu_);  // Those that have not left.
  uint64_t last_computer_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time idle_from_ ABSL_GUARDED_BY(mu_) = clock_.Now();
  bool failed_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

// Hands the steps of one trainer to the user's program. Thread-safe.
class UserCompute final : public Computer {
 public:
  // `compensates`: pushes say what was pulled (worker/machines/runners.h), and so each step keeps a
  // copy of that. `steps` and `loop` must outlive this object.
  UserCompute(UserSteps& steps, EventLoop& loop, bool compensates)
      : steps_(steps), id_(steps.Join(loop)), compensates_(compensates) {}
  ~UserCompute() override { steps_.Leave(id_); }  // Results of steps that are taken are dropped.
  UserCompute(const UserCompute&) = delete;
  UserCompute& operator=(const UserCompute&) = delete;

  void Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) override;

 private:
  UserSteps& steps_;
  const uint64_t id_;
  const bool compensates_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_USER_COMPUTE_H_
