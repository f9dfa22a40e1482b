// Carries out the work on one lease in a worker process: on the prefetcher, the compute thread, the
// shards and the coordinator.
#ifndef CAPSTAN_WORKER_SHELL_LEASE_CALLS_H_
#define CAPSTAN_WORKER_SHELL_LEASE_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "capstan/base/clock.h"
#include "capstan/client/ps_client.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/session/lease_shell.h"
#include "worker/shell/batch_feed.h"
#include "worker/shell/computer.h"
#include "worker/shell/lease_meter.h"
#include "worker/shell/lease_results.h"
#include "worker/shell/shared_pulls.h"
#include "worker/shell/step.h"
#include "worker/shell/step_calls.h"
#include "worker/shell/step_times.h"
#include "worker/shell/worker_metrics.h"

namespace capstan::worker {

// What the leases of a trainer work with. All of it outlives them.
struct TrainerContext {
  const v1::JobSpec& job;
  const ParameterMap& parameters;
  const Clock& clock;
  EventLoop& loop;
  PsClient& client;
  Computer& compute;
  BatchPrefetcher& prefetcher;
  StepPool& steps;
  SharedPulls& shared_pulls;
  GroupedExamples& grouped;  // Counts those of all evaluations of the worker.
  StepTimes& times;
  const JobProgress& progress;
  WorkerMetrics& metrics;
};

// Confined to the event loop.
class LeaseCalls final : public LeaseShell {
 public:
  // `trainer` must outlive the object.
  LeaseCalls(const TrainerContext& trainer, const v1::Lease& lease);
  ~LeaseCalls() override;  // Cancels the calls under way.
  LeaseCalls(const LeaseCalls&) = delete;
  LeaseCalls& operator=(const LeaseCalls&) = delete;

  void Begin(LeaseEvents& events) override { events_ = &events; }

  absl::Time Now() const override { return trainer_.clock.Now(); }
  double Random() override { return absl::Uniform<double>(random_, 0.0, 1.0); }
  const v1::View& view() const override { return trainer_.client.view(); }
  TasksRead& tasks() override { return feed_; }

  void Do(const ReadBatch& action) override;
  void Do(const SendPull& action) override;
  void Do(const Compute& action) override;
  void Do(const SendPush& action) override;
  void Do(const SendClock& action) override;
  void Do(const SendReport& action) override;
  void Do(const Forget& action) override;
  void Open(const SendOpen& action, absl::Time asked,
            std::optional<WaitingTurns::Turn> turn) override;

  std::vector<BatchRead> Replan() override;
  bool Needs(uint64_t batch, ShardIndex shard) const override;
  void Extend(const v1::Lease& lease) override { feed_.Extend(lease); }
  void ReadToEnd(uint64_t batches) override;
  void OnHandled(const Event& event, const RunnerMachine& machine) override;
  void OnFinished(bool lost) override;
  void AddResults(v1::LeaseReport& report) const override { results_.Fill(report); }

 private:
  void OnBatch(uint64_t number, absl::Time asked, absl::StatusOr<LeaseBatch> read);
  bool JoinPull(const SendPull& action, bool frozen);
  std::shared_ptr<SharedPulls::Pull> BeginShared(const SendPull& action, bool frozen);
  void OnPulled(const SendPull& pull, const PullResult& result);
  void OnPushed(const SendPush& push, const PushResult& result);
  void OnComputed(uint64_t number);
  ShardIndex Coordinator() const;
  // Runs `callback` unless this object is gone by then.
  template <typename Callback>
  auto Guard(Callback callback);

  const TrainerContext& trainer_;
  const v1::LeaseKind kind_;
  const Timeline timeline_;
  LeaseEvents* events_ = nullptr;
  BatchFeed feed_;
  LeaseMeter meter_;
  LeaseResults results_;
  absl::BitGen random_;

  std::map<uint64_t, std::shared_ptr<Step>> batches_;  // Batches that were read and not forgotten.
  StepCalls pulls_{trainer_.client};
  // Pulls of other lanes that this one waits for, by batch and shard.
  std::map<std::pair<uint64_t, ShardIndex>, std::unique_ptr<SharedPulls::Part>> parts_;
  StepCalls pushes_{trainer_.client};
  std::map<Ticket, CallId> coordinator_calls_;  // Calls under way to the coordinator.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with callbacks under way.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_CALLS_H_
