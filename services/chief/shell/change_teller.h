// Tells people what the job file says and the running job does not do: looks at the file every two
// seconds, on a thread of its own, as a look may take as long as the store of the job's data does.
#ifndef CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_
#define CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "chief/shell/job_watch.h"
#include "chief/shell/store_thread.h"

namespace capstan::chief {

// To be used by one thread. Its end waits for a look that is under way.
class ChangeTeller {
 public:
  // Gets what JobWatch::Look finds, on the teller's thread; empty: the file says what the job does.
  using Tell = std::function<void(std::string change)>;
  ChangeTeller(JobWatch watch, Tell tell) : watch_(std::move(watch)), tell_(std::move(tell)) {}

  // Call it often. Has the file looked at if it was to be looked at two seconds ago or earlier;
  // while a look goes on, one more waits at the most.
  void Glance(absl::Time now);

 private:
  void Look();

  JobWatch watch_;
  const Tell tell_;
  absl::Time next_ = absl::InfinitePast();
  StoreThread thread_{1};  // Ends first: its work uses the others.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHANGE_TELLER_H_
