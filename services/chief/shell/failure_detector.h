// Finds out that the process of a shard has ended before its lease expires: its watch of the view
// has ended, and its port refuses connections. If its machine does not answer at all, this proves
// nothing, and the lease decides. See ShardLease.
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

// Probes ports on a thread of its own, which the destructor stops. Thread-safe.
class FailureDetector {
 public:
  struct Parts {
    const Clock& clock;
    ViewFeed& views;
    // Returns host:port of the process; empty: the process need not be probed.
    std::function<std::string(const ViewFeed::ShardProcess&)> address_of;
    // Returns true if nobody listens at `address`.
    std::function<bool(const std::string& address)> refuses;
    // Called when the process was found to have ended.
    std::function<void(const ViewFeed::ShardProcess&)> on_gone;
  };
  // All parts must outlive this object.
  explicit FailureDetector(Parts parts);
  ~FailureDetector();
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;

  // An implementation of Parts::refuses, by PortRefuses.
  static bool AsksPort(const std::string& address);

 private:
  struct Suspect {
    ViewFeed::ShardProcess process;
    absl::Time until;  // When to give up probing it.
  };

  void Run();
  void Look(absl::Time now);
  // Returns true if the suspect needs no more probes: it has ended, is alive, or is given up.
  bool IsSettled(const Suspect& suspect, absl::Time now);

  const Parts parts_;
  std::vector<Suspect> suspects_;  // Used by the thread alone.
  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_FAILURE_DETECTOR_H_
