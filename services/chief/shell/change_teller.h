// Tells people how the job file differs from the running job. It checks the file every two seconds,
// on a thread of its own, as a check may have to wait for the store of the job's data.
#ifndef CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_
#define CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "chief/shell/job_watch.h"
#include "chief/shell/store_thread.h"

namespace capstan::chief {

// Must be used by one thread. The destructor waits for a check that is under way.
class ChangeTeller {
 public:
  // Called on the teller's thread with the result of JobWatch::Look; empty: there is no difference.
  using Tell = std::function<void(std::string change)>;
  ChangeTeller(JobWatch watch, Tell tell) : watch_(std::move(watch)), tell_(std::move(tell)) {}

  // Starts a check of the file, if two seconds have passed since the last one was started. Must be
  // called often. While a check is under way, at most one more is queued.
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
