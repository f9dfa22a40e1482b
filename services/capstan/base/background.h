// Work beside the caller's: in a thread of its own, or in tests in virtual time.
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
  // Work that has begun. Destruction waits for its end.
  class Work {
   public:
    virtual ~Work() = default;
  };

  virtual ~Background() = default;
  virtual std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) = 0;
  // In work that it has begun: waits.
  virtual void SleepFor(absl::Duration length);
};

// Calls work(i) for each i below `count`: by this thread and `helpers` more of `background`, each
// of which takes the next one when it is free. Returns when all have ended. After an error, which
// is returned, none is begun any more.
absl::Status ForEach(size_t count, Background& background, int helpers,
                     absl::FunctionRef<absl::Status(size_t)> work);

// A thread for each. Immutable.
class Threads : public Background {
 public:
  // `niceness`: as in setpriority(2); those of a lower one come first. Above 0 the threads also ask
  // for short turns on a core, so that it costs them little to offer it (std::this_thread::yield).
  explicit Threads(int niceness = 0) : niceness_(niceness) {}
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override;

 private:
  const int niceness_;
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_BACKGROUND_H_
