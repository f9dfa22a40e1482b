// When the process of a chief ends by itself, and what it says then: pure decisions of its
// main loop.
#ifndef CAPSTAN_CHIEF_SHELL_PROCESS_END_H_
#define CAPSTAN_CHIEF_SHELL_PROCESS_END_H_

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// How long the process serves on after its job has ended. Thread-compatible.
class ProcessEnd {
 public:
  // For watchers to see the end.
  static constexpr absl::Duration kLinger = absl::Seconds(2);
  // For the last write of the state, if it has not succeeded yet.
  static constexpr absl::Duration kLastWrite = absl::Seconds(10);

  // To be called again and again. Returns true once it is time to end. `ended`: the job has
  // completed or failed; `stored`: all that is to be stored of that is.
  bool IsDue(bool ended, bool stored, absl::Time now);

 private:
  absl::Time ended_at_ = absl::InfiniteFuture();
};

// Returns the exit code of a chief that ends with its job: 0, or if the job has failed, 2 where bad
// input is to blame and 1 otherwise.
int ExitCodeOfJob(const v1::GetStatusReply& status);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PROCESS_END_H_
