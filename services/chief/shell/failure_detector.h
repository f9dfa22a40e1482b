// Finds out that the process of a shard has ended, sooner than its lease is over: its watch of the
// view ends with it, and its port refuses connections. A machine that says nothing tells nothing;
// then the lease decides. See ShardLease.
#ifndef CAPSTAN_CHIEF_SHELL_FAILURE_DETECTOR_H_
#define CAPSTAN_CHIEF_SHELL_FAILURE_DETECTOR_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// Looks at ports on a thread of its own; destruction ends it. Thread-safe.
class FailureDetector {
 public:
  struct Parts {
    const Clock& clock;
    ViewFeed& views;
    // host:port of the process; empty: there is no need to know.
    std::function<std::string(const ViewFeed::ShardProcess&)> address_of;
    // Nobody listens at this address.
    std::function<bool(const std::string& address)> refuses;
    // The process has ended.
    std::function<void(const ViewFeed::ShardProcess&)> on_gone;
  };
  // All must outlive this object.
  explicit FailureDetector(Parts parts);
  ~FailureDetector();
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;

  // By PortRefuses.
  static bool AsksPort(const std::string& address);

 private:
  struct Suspect {
    ViewFeed::ShardProcess process;
    absl::Time until;  // Later there is nothing to find out.
  };

  void Run();
  void Look(absl::Time now);
  // There is nothing more to find out about it.
  bool IsSettled(const Suspect& suspect, absl::Time now);

  const Parts parts_;
  std::vector<Suspect> suspects_;  // Used by the thread alone.
  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_FAILURE_DETECTOR_H_
