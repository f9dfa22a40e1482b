// A call that is repeated until it succeeds: its ticket, its back-off, and what its status means.
#ifndef CAPSTAN_WORKER_MACHINES_CALLS_H_
#define CAPSTAN_WORKER_MACHINES_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

enum class Verdict {
  kOk,
  kAgain,      // The peer is away, busy, slow or has another view (a newer view comes by itself).
  kRoundOver,  // Sync: the round has been closed.
  kFatal,
};
Verdict Judge(const absl::Status& status);
Verdict Judge(const OutcomeSummary& outcomes);  // REQUIRES: no old generation among them.

struct Call {
  enum class State { kIdle, kFlying, kWaiting, kDone };
  State state = State::kIdle;
  Ticket ticket = 0;  // kFlying.
  absl::Time due;     // kWaiting.
  int failures = 0;
  uint64_t clock = 0;  // ssp: the clock that the call carries.

  bool Awaits(Ticket of) const { return state == State::kFlying && ticket == of; }
  void Fly(Ticket with) {
    state = State::kFlying;
    ticket = with;
  }
  void Done() { state = State::kDone; }

  // Makes the call wait until it is to be tried again. Without a `hint` it waits for the back-off,
  // which doubles with each failure. With a `hint` it waits at least for a random time between
  // `hint` and twice that. A `hint` below backoff.first means that the peer will be free in a
  // moment: then the call waits for the hint alone, and this counts as no failure.
  void Wait(const Backoff& backoff, absl::Duration hint, const RunnerContext& context);
  char Letter() const { return "-f.d"[static_cast<int>(state)]; }
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_CALLS_H_
