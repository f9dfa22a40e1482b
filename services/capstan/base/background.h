// Runs work in the background: in threads, or in virtual time in tests.
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
  // Work that has begun. The destructor waits for its end.
  class Work {
   public:
    virtual ~Work() = default;
  };

  virtual ~Background() = default;
  virtual std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) = 0;
  // Sleeps. Must be called only within work that this object has begun.
  virtual void SleepFor(absl::Duration length);
};

// Calls work(i) for each i below `count`, on this thread and on `helpers` more threads of
// `background`; each thread takes the next i when it is free. Returns when all calls have ended.
// After an error, which is returned, no further call begins.
absl::Status ForEach(size_t count, Background& background, int helpers,
                     absl::FunctionRef<absl::Status(size_t)> work);

// Runs each piece of work in a thread of its own. Immutable.
class Threads : public Background {
 public:
  // `niceness`: as in setpriority(2); threads with a lower value have priority. With a positive
  // value the threads also ask for short time slices, so that giving up the core with
  // std::this_thread::yield costs them little.
  explicit Threads(int niceness = 0) : niceness_(niceness) {}
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override;

 private:
  const int niceness_;
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_BACKGROUND_H_
