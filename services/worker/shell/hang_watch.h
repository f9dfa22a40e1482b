// A step of the user's program that does not come back: the worker's heartbeats go on, so its lease
// would be kept for ever. Where the program stands only another thread of it can tell, and that
// only if the one that hangs lets go of the interpreter's lock.
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
  // So long the program has to say where it stands.
  static constexpr absl::Duration kForPlace = absl::Seconds(5);

  // Both must outlive it.
  HangWatch(UserSteps& steps, const Clock& clock) : steps_(steps), clock_(clock) {}

  // To be called all the while. Fails the step that the program, `program` by its name, has had for
  // `limit` or longer, once it is known where it hangs or nobody has said so for kForPlace: then
  // returns what was told, and `then` runs as UserSteps::Fail has it. A limit of 0 is none.
  std::optional<v1::UserCodeError> Look(absl::Duration limit, const std::string& program,
                                        absl::AnyInvocable<void()> then);

  // Whether a step hangs of which it is to be told where, at the latest after `timeout`.
  bool AwaitQuestion(absl::Duration timeout);
  // `place` as UserCodeError has it; `stack` is the thread's.
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
