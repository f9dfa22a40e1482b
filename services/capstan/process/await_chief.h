// Waits for a chief that has not started yet, is unreachable, or is busy.
#ifndef CAPSTAN_PROCESS_AWAIT_CHIEF_H_
#define CAPSTAN_PROCESS_AWAIT_CHIEF_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/shutdown.h"

namespace capstan {

struct AwaitedChief {
  std::string address;  // host:port, for messages.
  absl::Duration give_up_after;
};

// Calls `try_once`, which calls the chief, until it succeeds or fails with an error that is not
// worth repeating (capstan/base/worth_repeating.h), with pauses from 50 ms to a second. Logs a line
// at intervals meanwhile. Returns the last result of `try_once`. DEADLINE_EXCEEDED: the chief has
// not answered within `give_up_after` on `clock`. CANCELLED: `shutdown` was requested.
[[nodiscard]] absl::Status AwaitChief(const AwaitedChief& chief, const Clock& clock,
                                      const Shutdown& shutdown,
                                      absl::FunctionRef<absl::Status()> try_once);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_AWAIT_CHIEF_H_
