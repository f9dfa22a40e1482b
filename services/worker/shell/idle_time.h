// What a compute thread waited for before a step: the only waits that make training slower, for the
// others go on beside a computation.
#ifndef CAPSTAN_WORKER_SHELL_IDLE_TIME_H_
#define CAPSTAN_WORKER_SHELL_IDLE_TIME_H_

#include <algorithm>

#include "absl/time/time.h"

namespace capstan::worker {

// When a step came to where. The times are in this order.
struct StepMarks {
  absl::Time asked;          // Its batch was asked for,
  absl::Time read;           // was there,
  absl::Time pull_began;     // its parameters were asked for,
  absl::Time pulled;         // and were there;
  absl::Time idle_from;      // since when the thread had nothing to compute,
  absl::Time compute_began;  // until it began with this step.
};

struct IdleTime {
  absl::Duration work;  // For a lease.
  absl::Duration data;
  absl::Duration turn;  // For the next round, or for pushes of steps before.
  absl::Duration pull;
};

// Divides the time in which the thread stood by what the step was at meanwhile.
inline IdleTime DivideIdle(const StepMarks& step) {
  const auto within = [&step](absl::Time from, absl::Time until) {
    return std::max(absl::ZeroDuration(),
                    std::min(until, step.compute_began) - std::max(from, step.idle_from));
  };
  return {.work = within(absl::InfinitePast(), step.asked),
          .data = within(step.asked, step.read),
          .turn = within(step.read, step.pull_began),
          .pull = within(step.pull_began, absl::InfiniteFuture())};
}

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_IDLE_TIME_H_
