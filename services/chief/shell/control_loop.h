// Runs the ChiefMachine. Events come from any thread, and are handled one at a time. The actions of
// the machine are carried out in order on the thread of this object, which also calls Tick.
#ifndef CAPSTAN_CHIEF_SHELL_CONTROL_LOOP_H_
#define CAPSTAN_CHIEF_SHELL_CONTROL_LOOP_H_

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/process/liveness.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/process_channels.h"
#include "chief/duties/chief_machine.h"
#include "chief/shell/chief_metrics.h"
#include "chief/shell/curve_file.h"
#include "chief/shell/job_store.h"
#include "chief/shell/machine_access.h"
#include "chief/shell/store_thread.h"
#include "chief/shell/traced_tasks.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// Thread-safe.
class ControlLoop final : public MachineAccess {
 public:
  // All parts must outlive the ControlLoop.
  struct Parts {
    const Clock& clock;
    ViewFeed& views;
    CurveFile& curve;
    JobStore* store;            // Null: the job is not stored.
    StoreThread& housekeeping;  // For work whose end nobody waits for.
    ChiefMetrics& metrics;
    Liveness* liveness = nullptr;  // Is told of each turn of the loop.
    const Tls* tls = nullptr;      // The identity shown to shards; null: calls are in plaintext.
  };
  ControlLoop(ChiefMachine machine, Parts parts);
  // Stops the loop. REQUIRES: no event is under way.
  ~ControlLoop() override;
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  void TakeCheckpoint(OnCheckpoint done) override;
  // Answers all who wait for a checkpoint with UNAVAILABLE, and from now on all who ask for one,
  // because the process ends.
  void AnswerAskers();

 private:
  // Calls `event` with the mutex held.
  void Do(absl::FunctionRef<void(ChiefMachine&, absl::Time)> event) override;
  void TakeActions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Loop();
  void PerformAll();
  void Perform(PublishView& action);
  void Perform(CallShard& action);
  void Perform(StoreState& action);
  void Perform(WriteManifest& action);
  void Perform(ReadManifest& action);
  void Perform(DeleteCheckpoints& action);
  void Perform(AnswerCheckpoint& action);
  void Perform(AppendCurve& action);
  void Perform(LogEvent& action);
  // Runs `work` on the thread of commits, and then calls report(machine, its result, now) as an
  // event.
  template <typename Work, typename Report>
  void Commit(Work work, Report report);

  const Parts parts_;
  EventLoop loop_;                      // Used by the loop's thread only, except for Post.
  ProcessChannels channels_;            // Used by the loop's thread only.
  std::map<uint32_t, Channel> shards_;  // The channel of each shard, by index; like channels_.

  absl::Mutex mu_;
  ChiefMachine machine_ ABSL_GUARDED_BY(mu_);
  std::vector<Action> outbox_ ABSL_GUARDED_BY(mu_);
  TracedTasks traced_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::map<uint64_t, OnCheckpoint> askers_ ABSL_GUARDED_BY(mu_);  // The machine limits the number.
  uint64_t last_asker_ ABSL_GUARDED_BY(mu_) = 0;
  bool askers_answered_ ABSL_GUARDED_BY(mu_) = false;  // AnswerAskers was called.
  std::thread thread_;
  StoreThread commits_;  // Last: destroyed first, after its work is done.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CONTROL_LOOP_H_
