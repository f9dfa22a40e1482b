// The work on one lease: what happens to it goes to its runner machine as events, and the machine's
// actions go to a LeaseShell. Lanes take turns with their pulls, and with calls that wait at the
// coordinator; leases of all kinds, with what is read ahead. Worker processes and the simulation
// run the same runner over shells of their own.
#ifndef CAPSTAN_WORKER_SESSION_LEASE_RUNNER_H_
#define CAPSTAN_WORKER_SESSION_LEASE_RUNNER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/lane_pulls.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/read_ahead.h"
#include "worker/machines/runner_machine.h"
#include "worker/machines/trainer_clock.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/lease_lifecycle.h"
#include "worker/session/lease_shell.h"
#include "worker/session/lease_work.h"
#include "worker/session/map_watch.h"

namespace capstan::worker {

// What the leases of a trainer share.
struct SharedByLeases {
  TrainerClock& clock;
  LaneTurns& turns;
  // The worker's limit on OpenRound calls that wait at the coordinator for the next round.
  WaitingTurns& waiting_opens;
  // The worker's limit on batches that are read ahead.
  ReadAhead& read_ahead;
};

// Thread-compatible.
class LeaseRunner final : public LeaseWork, public LeaseEvents {
 public:
  // Begins to work at once. What `shared` refers to must outlive the runner.
  LeaseRunner(const v1::JobSpec& job, const v1::Lease& lease, const SharedByLeases& shared,
              std::unique_ptr<LeaseShell> shell);
  ~LeaseRunner() override;
  LeaseRunner(const LeaseRunner&) = delete;
  LeaseRunner& operator=(const LeaseRunner&) = delete;

  // Events are handled one at a time, in order: an action may bring about the next event at once.
  void Deliver(Event event) override;

  // ---- for the trainer ----

  void Extend(const v1::Lease& lease) override;
  void OnView(const std::vector<ShardIndex>& restarted) override;
  absl::Time NextWake() const override;
  bool over() const override { return lifecycle_.over(); }
  bool HasReadAll() const override {
    return lifecycle_.machine().progress().total_batches.has_value();
  }
  bool HasNews() const override { return lifecycle_.HasNews(); }
  v1::LeaseReport Report() override;

  // ---- for the shell ----

  void OnReadFailed(const absl::Status& why) override;
  void OnComputeFailed(const absl::Status& why) override;
  void OnReadToEnd(const absl::Status& status) override;

 private:
  void Do(const ReadBatch& action) { shared_.read_ahead.Ask(this, action.batch); }
  void Do(const SendPull& action) { lane_pulls_.Send(action); }
  void Do(const SendOpen& action);
  void Do(const SendReport& action);
  void Do(const Finished& action);
  template <typename Other>
  void Do(const Other& action) {
    shell_->Do(action);
  }

  void Handle(const Event& event);
  Actions Ask(const Event& event);
  void OnOpened(const OpenDone& event);
  void Fail(const absl::Status& why, bool bad_data);
  void LeaveTurns();

  const SharedByLeases shared_;
  std::unique_ptr<LeaseShell> shell_;
  LeaseLifecycle lifecycle_;
  MapWatch map_;  // The map by which calls under way were sent.
  LanePulls lane_pulls_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with opens that wait.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_RUNNER_H_
