// A worker process between registration and its end: one event loop on which everything but reading
// and computing happens.
#ifndef CAPSTAN_WORKER_SHELL_WORKER_H_
#define CAPSTAN_WORKER_SHELL_WORKER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/shutdown.h"
#include "capstan/data/formats/source.h"
#include "worker/session/worker_machine.h"
#include "worker/shell/model_source.h"
#include "worker/shell/stall_meter.h"
#include "worker/shell/trainer.h"

namespace capstan::worker {

struct WorkerOptions {
  std::string name;
  Incarnation incarnation{};
  absl::Duration min_step;  // See ComputeOptions.
  // What the user's program has declared; null: the job's towers are computed. Must outlive the
  // worker.
  const v1::ModelDeclaration* declaration = nullptr;
  absl::Duration drain;      // See RuntimeOptions.
  const Tls* tls = nullptr;  // What shards are shown; null: plaintext. Must outlive the worker.
};

// Confined to the thread that runs it.
class Worker final : public WorkerShell {
 public:
  // `registration` is the chief's answer. `model`, `chief`, `loop` and `metrics` must outlive the
  // worker. INVALID_ARGUMENT if the job's model cannot be made.
  static absl::StatusOr<std::unique_ptr<Worker>> Create(WorkerOptions options,
                                                        const v1::RegisterWorkerReply& registration,
                                                        ModelSource& model, EventLoop& loop,
                                                        Channel chief, WorkerMetrics& metrics);
  ~Worker() override;

  // Works until `shutdown` is requested and the worker has drained, or the chief has given this
  // worker up. When another chief takes over, the worker registers with it, tells what it holds,
  // and goes on. When the job is over the worker stays, idle.
  WorkerEnd Run(const Shutdown& shutdown);

 private:
  Worker(WorkerOptions options, const v1::RegisterWorkerReply& registration, EventLoop& loop,
         Channel chief, WorkerMetrics& metrics, ParameterMap parameters);
  absl::Status AddTrainers(const v1::RegisterWorkerReply& registration, ModelSource& model);

  void WatchView();
  void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) override;
  void OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply);
  void SendRegistration(const v1::RegisterWorkerRequest& request) override;
  v1::WorkerReport MakeReport() override;
  uint64_t trained() const override { return static_cast<uint64_t>(metrics_.samples.value()); }
  absl::Duration UntilNextTurn() const;
  void BeginDrain();
  absl::Time Now() const { return clock_.Now(); }

  const WorkerOptions options_;
  const v1::JobSpec job_;
  const ParameterMap parameters_;
  const SteadyClock clock_;
  EventLoop& loop_;
  const Channel chief_;
  WorkerMetrics& metrics_;
  const std::shared_ptr<const Source> source_;  // Shared with the prefetcher.
  StepPool steps_;
  WaitingTurns waiting_opens_;
  ReadAhead read_ahead_;
  GroupedExamples grouped_;
  BatchPrefetcher prefetcher_;
  StallMeter stall_meter_;
  WorkerMachine machine_;
  WorkerContext context_;
  const ModelSource* model_ = nullptr;  // Set by AddTrainers.
  std::map<TrainerId, std::unique_ptr<Trainer>> trainers_;

  absl::Time view_retry_ = absl::InfiniteFuture();
  absl::Time heartbeat_warned_ = absl::InfinitePast();
  double last_samples_ = 0;
  absl::Time last_report_ = absl::InfinitePast();
  double examples_per_second_ = 0;
  CallId view_call_{};
  CallId heartbeat_call_{};
  CallId registration_call_{};
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_WORKER_H_
