// One trainer of the job: its computer, its client of the shards, and the leases it works on.
#ifndef CAPSTAN_WORKER_SHELL_TRAINER_H_
#define CAPSTAN_WORKER_SHELL_TRAINER_H_

#include <memory>
#include <vector>

#include "capstan/v1/view.pb.h"
#include "worker/session/held_leases.h"
#include "worker/session/lease_runner.h"
#include "worker/session/trainer_work.h"
#include "worker/shell/lease_calls.h"

namespace capstan::worker {

// What the trainers of a worker share. All of it outlives them.
struct WorkerContext {
  const v1::JobSpec& job;
  const ParameterMap& parameters;
  const Clock& clock;
  EventLoop& loop;
  BatchPrefetcher& prefetcher;
  StepPool& steps;
  WaitingTurns& waiting_opens;
  ReadAhead& read_ahead;
  GroupedExamples& grouped;
  const JobProgress& progress;
  WorkerMetrics& metrics;
};

// Its leases overlap: the computations of lanes and evaluations take turns. Confined to the event
// loop.
class Trainer final : public TrainerWork {
 public:
  // What `worker` refers to must outlive the trainer.
  Trainer(const WorkerContext& worker, TrainerId id, std::shared_ptr<ProcessChannels> channels,
          std::unique_ptr<Computer> computer);

  HeldLeases& leases() override { return leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override;
  double StepSeconds() const override { return times_.BusySeconds(); }

  TrainerId id() const { return id_; }
  const StepTimes& times() const { return times_; }

 private:
  const TrainerId id_;
  PsClient client_;
  TrainerClock clock_;
  StepTimes times_;
  const std::unique_ptr<Computer> computer_;
  LaneTurns turns_;
  SharedPulls shared_pulls_;
  const SharedByLeases shared_;
  const TrainerContext context_;
  HeldLeases leases_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_TRAINER_H_
