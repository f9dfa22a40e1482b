// Work that either of two threads may do.
#ifndef CAPSTAN_BASE_RUN_ONCE_H_
#define CAPSTAN_BASE_RUN_ONCE_H_

#include <mutex>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace capstan {

// Runs `work` for whoever asks first; others wait until it has been run. Thread-safe.
class RunOnce {
 public:
  explicit RunOnce(absl::AnyInvocable<void()> work) : work_(std::move(work)) {}

  // When it returns, the work has been run, and what it had captured is let go of.
  void Run() {
    std::call_once(once_, [this] { std::exchange(work_, nullptr)(); });
  }

 private:
  std::once_flag once_;
  absl::AnyInvocable<void()> work_;
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_RUN_ONCE_H_
