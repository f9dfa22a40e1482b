// Tells people how the job file differs from the running job. It looks at the file every two
// seconds, on a thread of its own, as a look may have to wait for the store of the job's data.
#ifndef CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_
#define CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "chief/shell/job_watch.h"
#include "chief/shell/store_thread.h"

namespace capstan::chief {

// To be used by one thread. The destructor waits for a look that is under way.
class ChangeTeller {
 public:
  // Is called on the teller's thread with what JobWatch::Look has found; empty: there is no
  // difference.
  using Tell = std::function<void(std::string change)>;
  ChangeTeller(JobWatch watch, Tell tell) : watch_(std::move(watch)), tell_(std::move(tell)) {}

  // Has the file looked at, if two seconds have passed since that was last asked for. Call it
  // often. While a look goes on, at most one more waits.
  void Glance(absl::Time now);

 private:
  void Look();

  JobWatch watch_;
  const Tell tell_;
  absl::Time next_ = absl::InfinitePast();
  StoreThread thread_{1};  // Last: destroyed first, as its work uses the others.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_
