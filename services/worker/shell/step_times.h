// Moving averages of how long each phase of a trainer's steps takes: heartbeats report them, and
// the chief finds stragglers by them.
#ifndef CAPSTAN_WORKER_SHELL_STEP_TIMES_H_
#define CAPSTAN_WORKER_SHELL_STEP_TIMES_H_

#include "absl/time/time.h"

namespace capstan::worker {

// A moving average of the last values: each new one weighs 1/8. Confined to the event loop.
class MovingAverage {
 public:
  void Add(absl::Duration value) {
    const double seconds = absl::ToDoubleSeconds(value);
    seconds_ = any_ ? seconds_ + (seconds - seconds_) / 8 : seconds;
    any_ = true;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
  bool any_ = false;
};

struct StepTimes {
  MovingAverage data;
  MovingAverage pull;
  MovingAverage compute;
  MovingAverage push;
  MovingAverage round_wait;

  // The time of a step without the waits that policies impose: only a slow machine makes it longer.
  double BusySeconds() const { return data.seconds() + compute.seconds() + push.seconds(); }
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_TIMES_H_
