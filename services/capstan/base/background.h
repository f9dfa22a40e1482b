// Work beside the caller's: in threads, or in tests in virtual time.
#ifndef CAPSTAN_BASE_BACKGROUND_H_
#define CAPSTAN_BASE_BACKGROUND_H_

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace capstan {

// Thread-safe.
class Background {
 public:
  // Work that has begun. Destroying this object waits for its end.
  class Work {
   public:
    virtual ~Work() = default;
  };

  virtual ~Background() = default;
  virtual std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) = 0;
  // Waits. To be called only within work that this object has begun.
  virtual void SleepFor(absl::Duration length);
};

// Calls work(i) for each i below `count`, on this thread and on `helpers` threads more of
// `background`, each of which takes the next i when it is free. Returns when all calls have ended.
// After an error, which is returned, no further call begins.
absl::Status ForEach(size_t count, Background& background, int helpers,
                     absl::FunctionRef<absl::Status(size_t)> work);

// Runs each work in a thread of its own. Immutable.
class Threads : public Background {
 public:
  // `niceness`: as in setpriority(2); threads with a lower one run first. Above 0 the threads also
  // ask for short time slices, so that it costs them little to give up the core
  // (std::this_thread::yield).
  explicit Threads(int niceness = 0) : niceness_(niceness) {}
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override;

 private:
  const int niceness_;
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_BACKGROUND_H_
