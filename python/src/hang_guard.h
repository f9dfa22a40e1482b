// Ends a process whose program hangs, so that it is started again.
#ifndef CAPSTAN_PYTHON_SRC_HANG_GUARD_H_
#define CAPSTAN_PYTHON_SRC_HANG_GUARD_H_

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "capstan/base/clock.h"
#include "capstan/base/shutdown.h"
#include "worker/shell/hang_watch.h"
#include "worker/shell/runtime.h"
#include "worker/shell/user_program.h"

namespace capstan::worker {

// Looks on a thread of its own, which never takes the interpreter's lock. Thread-safe.
class HangGuard {
 public:
  // All must outlive it.
  HangGuard(UserProgram& program, Shutdown& shutdown, Runtime& runtime);
  ~HangGuard();  // Does not return if the process is being ended.
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

  HangWatch& watch() { return watch_; }
  // Stops looking. Does not return if the process is being ended: its exit code is not the
  // caller's to choose.
  void Stop();

 private:
  void Run();
  [[noreturn]] void EndProcess(const v1::UserCodeError& error);

  UserProgram& program_;
  Shutdown& shutdown_;
  Runtime& runtime_;
  const SteadyClock clock_{};
  HangWatch watch_;
  absl::Notification stop_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_PYTHON_SRC_HANG_GUARD_H_
