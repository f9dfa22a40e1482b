// What a compute thread waited for before a step. Only these waits make training slower; all other
// waits go on beside a computation.
#ifndef CAPSTAN_WORKER_SHELL_IDLE_TIME_H_
#define CAPSTAN_WORKER_SHELL_IDLE_TIME_H_

#include <algorithm>

#include "absl/time/time.h"

namespace capstan::worker {

// When a step reached each point of its way. The times ascend, except that `idle_from` may lie
// anywhere before `compute_began`.
struct StepMarks {
  absl::Time asked;          // Its batch was asked for.
  absl::Time read;           // Its batch was there.
  absl::Time pull_began;     // Its first parameters were asked for.
  absl::Time pulled;         // Its last parameters were there.
  absl::Time idle_from;      // The compute thread had nothing to do from here on.
  absl::Time compute_began;  // The thread began to compute this step.
};

struct IdleTime {
  absl::Duration work;  // Waited for a lease.
  absl::Duration data;
  absl::Duration turn;  // Waited for the next round, or for pushes of earlier steps.
  absl::Duration pull;
};

// Divides the time for which the compute thread stood idle by what the step was waiting for
// meanwhile.
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
