// One call that is tried until it succeeds: its ticket, its back-off, and how its status is read.
#ifndef CAPSTAN_WORKER_MACHINES_CALLS_H_
#define CAPSTAN_WORKER_MACHINES_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

enum class Verdict {
  kOk,
  kAgain,      // Peer away, busy, out of time, or of another view (the newer one comes unasked).
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
  uint64_t clock = 0;  // What it tells (ssp).

  bool Awaits(Ticket of) const { return state == State::kFlying && ticket == of; }
  void Fly(Ticket with) {
    state = State::kFlying;
    ticket = with;
  }
  void Done() { state = State::kDone; }

  // Tries again after the back-off, which doubles with each failure, and at a moment between the
  // peer's hint and twice that. By a hint that is shorter than the first back-off the peer says
  // that it will be able to in a moment: then by the hint alone, and it counts as no failure.
  void Wait(const Backoff& backoff, absl::Duration hint, const RunnerContext& context);
  char Letter() const { return "-f.d"[static_cast<int>(state)]; }
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_CALLS_H_
