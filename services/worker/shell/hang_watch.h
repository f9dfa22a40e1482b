// Watches for a step of the user's program that does not come back: as the worker's heartbeats go
// on, its lease would be kept for ever. Where the program hangs, only another thread of the program
// can tell, and only if the thread that hangs lets go of the interpreter's lock.
#ifndef CAPSTAN_WORKER_SHELL_HANG_WATCH_H_
#define CAPSTAN_WORKER_SHELL_HANG_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/user_compute.h"

namespace capstan::worker {

// Thread-safe.
class HangWatch {
 public:
  // How long the program has to say where it hangs.
  static constexpr absl::Duration kForPlace = absl::Seconds(5);

  // `steps` and `clock` must outlive this object.
  HangWatch(UserSteps& steps, const Clock& clock) : steps_(steps), clock_(clock) {}

  // To be called again and again. Looks for a step that the program has had for `limit` or longer,
  // and fails it once Answer() has told where it hangs, or after kForPlace without an answer: then
  // returns the error, and `then` runs as UserSteps::Fail says. Otherwise returns nullopt.
  // `program`: the program's name. A `limit` of 0 means that there is none.
  std::optional<v1::UserCodeError> Look(absl::Duration limit, const std::string& program,
                                        absl::AnyInvocable<void()> then);

  // Waits until a step hangs whose place nobody has told yet, for `timeout` at the most. Returns
  // whether there is one; the caller then calls Answer().
  bool AwaitQuestion(absl::Duration timeout);
  // Tells where the step hangs: `place` as in UserCodeError, `stack` of the thread that hangs.
  void Answer(std::string place, std::string stack);

 private:
  struct Hanging {
    uint64_t number = 0;  // The step's number.
    absl::Time since;
    std::optional<v1::UserCodeError> told;
  };

  bool Asks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return hanging_ && !hanging_->told; }
  std::optional<v1::UserCodeError> Verdict(uint64_t step, absl::Duration limit,
                                           const std::string& program);

  UserSteps& steps_;
  const Clock& clock_;
  absl::Mutex mu_;
  std::optional<Hanging> hanging_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_HANG_WATCH_H_
