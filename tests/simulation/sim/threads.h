// The threads of a simulated process: fibers that sleep in virtual time, are late when the process
// is frozen, and go no further when it is killed.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_THREADS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_THREADS_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "capstan/base/background.h"
#include "tests/simulation/sim/network.h"

namespace capstan::sim {

// Used by one thread at a time, as everything here.
class SimThreads : public Background {
 public:
  // `network` must outlive this object, and this object its work.
  SimThreads(Network& network, const Life& life) : network_(network), life_(life) {}

  // Begins soon. To destroy the work from other work waits for its end in virtual time; from
  // outside it means that the process is over: every sleep of it ends at once.
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override;

  // In the work. False: the process is over, and the work shall end.
  bool Sleep(absl::Duration length);
  void SleepFor(absl::Duration length) override { (void)Sleep(length); }
  // In the work: what ends its sleep under way, if it sleeps when that is called.
  std::function<void()> Waker();
  bool over() const;  // In the work: it is to end.

  const Life& life() const { return life_; }

  struct Task;

 private:
  class TaskWork;
  void ResumeAfter(absl::Duration wait, const std::shared_ptr<Task>& task);
  static void RunToTheEnd(Task& task);

  Network& network_;
  const Life life_;
};

// The same, with a processor that has other things to do: all work takes its time.
class BusyThreads : public Background {
 public:
  // Both must outlive this object.
  BusyThreads(SimThreads& threads, Schedule& schedule) : threads_(threads), schedule_(schedule) {}

  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override;
  void SleepFor(absl::Duration length) override { threads_.SleepFor(length); }

 private:
  SimThreads& threads_;
  Schedule& schedule_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_THREADS_H_
