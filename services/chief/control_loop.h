// Runs the machine: events come from any thread, one at a time; what the machine asks for is done,
// in order, on one thread of this object, which also turns the clock.
#ifndef CAPSTAN_CHIEF_CONTROL_LOOP_H_
#define CAPSTAN_CHIEF_CONTROL_LOOP_H_

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "chief/chief_machine.h"
#include "chief/chief_metrics.h"
#include "chief/job_files.h"
#include "chief/view_feed.h"

namespace capstan::chief {

// Thread-safe.
class ControlLoop {
 public:
  // All but the machine must outlive this object.
  struct Parts {
    const Clock& clock;
    ViewFeed& views;
    JobFiles& files;
    ChiefMetrics& metrics;
  };
  ControlLoop(ChiefMachine machine, Parts parts);
  // Stops; no event may be under way.
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  // Does `event(machine, now)` under the mutex and returns its result.
  template <typename Event>
  auto Run(Event event) {
    absl::MutexLock lock(&mu_);
    auto result = event(machine_, parts_.clock.Now());
    TakeActions();
    return result;
  }

  v1::GetStatusReply Status();

 private:
  void TakeActions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Loop();
  void PerformAll();
  void Perform(PublishView& action);
  void Perform(CallShard& action);
  void Perform(WriteManifest& action);
  void Perform(AppendCurve& action);
  void Perform(LogEvent& action);
  template <typename Reply, typename Request>
  void Call(const CallShard& action, const char* method, const Request& request);

  const Parts parts_;
  EventLoop loop_;                           // Of the loop's thread, except Post.
  std::map<std::string, Channel> channels_;  // By address; of the loop's thread.

  absl::Mutex mu_;
  ChiefMachine machine_ ABSL_GUARDED_BY(mu_);
  std::vector<Action> outbox_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_CONTROL_LOOP_H_
