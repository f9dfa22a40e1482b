// A worker process of a simulated world: the real worker machine and the real leases of a trainer,
// with a network, a clock and arithmetic that are simulated.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_WORKER_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_WORKER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/lease_calls.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/held_leases.h"
#include "worker/session/lease_runner.h"
#include "worker/session/trainer_work.h"
#include "worker/session/worker_machine.h"

namespace capstan::sim {

// A trainer whose compute thread is a timer.
class SimTrainer final : public worker::TrainerWork {
 public:
  // What the leases of all trainers of a worker share.
  struct Limits {
    worker::WaitingTurns& waiting_opens;
    worker::ReadAhead& read_ahead;
  };
  // Everything referred to must outlive the trainer.
  SimTrainer(Cast& cast, const Life& life, TrainerId id, const double& slowness,
             const absl::Time& data_come, const Limits& limits, std::function<void()> wake);

  worker::HeldLeases& leases() override { return leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override;
  double StepSeconds() const override;

 private:
  worker::TrainerClock clock_;
  v1::View view_;
  absl::Time busy_until_ = absl::InfinitePast();
  worker::LaneTurns turns_;
  const worker::SharedByLeases shared_;
  TrainerContext context_;
  worker::HeldLeases leases_;
};

class WorkerProcess final : public worker::WorkerShell {
 public:
  WorkerProcess(Cast& cast, const Life& life, std::string name, bool false_words = false);

  const Life& life() const { return life_; }
  const std::string& name() const { return name_; }
  void Drain();  // SIGTERM.
  void SetSlowness(double slowness) { slowness_ = slowness; }
  // Its data do not come for so long: perhaps for ever.
  void Stall(absl::Duration length);

 private:
  void Register();
  void OnRegistered(const v1::RegisterWorkerReply& reply);
  void SendRegistration(const v1::RegisterWorkerRequest& request) override;
  void BeginAnew();
  void WatchView();
  void Turn();  // Of the machine; and sees to the next one.
  void TurnSoon();
  void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) override;
  v1::WorkerReport MakeReport() override;
  uint64_t trained() const override { return 0; }  // Heartbeats tell often enough.
  void AddFalseWords(v1::WorkerHeartbeatRequest& request);
  absl::Time Now() const { return cast_.schedule().Now(); }

  Cast& cast_;
  const Life life_;
  const std::string name_;
  const bool false_words_;
  uint64_t incarnation_ = 0;
  uint64_t former_ = 0;  // Its incarnation before, if it has begun anew.
  double slowness_ = 1;
  absl::Time stalled_since_ = absl::InfinitePast();
  absl::Time data_come_ = absl::InfinitePast();
  worker::WaitingTurns waiting_opens_;
  worker::ReadAhead read_ahead_{{.batches = 2, .bytes = 2}};  // Each batch counts as one byte.
  std::map<TrainerId, std::unique_ptr<SimTrainer>> trainers_;
  std::optional<worker::WorkerMachine> machine_;  // None until it has been registered.
  uint64_t false_words_told_ = 0;
  uint64_t watch_ = 0;  // Names the present watch stream.
  absl::Time turn_at_ = absl::InfiniteFuture();
  bool draining_ = false;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_WORKER_H_
