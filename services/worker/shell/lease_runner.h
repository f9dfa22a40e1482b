// The shell around a runner machine: turns what happens to one lease into its events and carries
// out its actions on the prefetcher, the compute thread, the shards and the coordinator.
#ifndef CAPSTAN_WORKER_SHELL_LEASE_RUNNER_H_
#define CAPSTAN_WORKER_SHELL_LEASE_RUNNER_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/random/random.h"
#include "capstan/base/clock.h"
#include "capstan/client/ps_client.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/lane_pulls.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/runner_machine.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/lease_lifecycle.h"
#include "worker/session/lease_work.h"
#include "worker/session/map_watch.h"
#include "worker/shell/batch_feed.h"
#include "worker/shell/computer.h"
#include "worker/shell/lease_meter.h"
#include "worker/shell/lease_results.h"
#include "worker/shell/step.h"
#include "worker/shell/step_calls.h"
#include "worker/shell/step_times.h"
#include "worker/shell/worker_metrics.h"

namespace capstan::worker {

// What the leases of a trainer share. All of it outlives them.
struct TrainerContext {
  const v1::JobSpec& job;
  const ParameterMap& parameters;
  const Clock& clock;
  EventLoop& loop;
  PsClient& client;
  Computer& compute;
  BatchPrefetcher& prefetcher;
  StepPool& steps;
  LaneTurns& turns;
  // The worker's limit on OpenRound calls that wait at the coordinator for the next round.
  WaitingTurns& waiting_opens;
  GroupedExamples& grouped;  // Counts those of all evaluations of the worker.
  TrainerClock& trainer_clock;
  StepTimes& times;
  const JobProgress& progress;
  WorkerMetrics& metrics;
};

// Confined to the event loop.
class LeaseRunner final : public LeaseWork {
 public:
  // Begins to work at once. `trainer` must outlive the runner.
  LeaseRunner(const TrainerContext& trainer, v1::Lease lease);
  ~LeaseRunner() override;
  LeaseRunner(const LeaseRunner&) = delete;
  LeaseRunner& operator=(const LeaseRunner&) = delete;

  // Events are handled one at a time, in order: an action may bring about the next event at once.
  void Deliver(Event event) override;
  void Extend(const v1::Lease& lease) override;
  void OnView(const std::vector<ShardIndex>& restarted) override;
  absl::Time NextWake() const override {
    return lifecycle_.machine_over() ? absl::InfiniteFuture() : lifecycle_.machine().NextWake();
  }
  bool over() const override { return lifecycle_.over(); }
  bool HasNews() const override { return lifecycle_.HasNews(); }
  v1::LeaseReport Report() override;

 private:
  void Do(const ReadBatch& action);
  void Do(const SendPull& action);
  void Do(const Compute& action);
  void Do(const SendPush& action);
  void Do(const SendClock& action);
  void Do(const SendOpen& action);
  void Do(const SendReport& action);
  void Do(const Forget& action);
  void Do(const Finished& action);

  void Pull(const SendPull& action);
  void Open(const SendOpen& action, std::optional<WaitingTurns::Turn> turn);

  void OnBatch(uint64_t number, absl::Time asked, absl::StatusOr<LeaseBatch> read);
  void OnPulled(const SendPull& pull, const PullResult& result);
  void OnPushed(const SendPush& push, const PushResult& result);
  void OnComputed(uint64_t number);
  void OnUserCodeError(const v1::UserCodeError& error);
  void Handle(const Event& event);
  ShardIndex Coordinator() const;
  bool evaluates() const { return lifecycle_.lease().kind() == v1::LEASE_KIND_EVALUATION; }
  Timeline timeline() const { return Timeline{lifecycle_.lease().timeline()}; }
  absl::Time Now() const { return trainer_.clock.Now(); }
  // Runs `callback` unless the runner is gone by then.
  template <typename Callback>
  auto Guard(Callback callback);

  const TrainerContext& trainer_;
  BatchFeed feed_;
  LeaseLifecycle lifecycle_;
  MapWatch map_;  // The map by which calls under way were sent.
  LeaseMeter meter_;
  LeaseResults results_;
  LanePulls lane_pulls_;
  absl::BitGen random_;

  std::map<uint64_t, std::shared_ptr<Step>> batches_;  // Batches that were read and not forgotten.
  StepCalls pulls_{trainer_.client};
  StepCalls pushes_{trainer_.client};
  std::map<Ticket, CallId> coordinator_calls_;  // Calls under way to the coordinator.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with callbacks under way.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_RUNNER_H_
