// A worker process of a simulated world: worker/shell/worker and worker/shell/trainer around the
// real session machine.
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
#include "tests/simulation/sim/runner.h"
#include "worker/session/held_leases.h"
#include "worker/session/session_machine.h"

namespace capstan::sim {

// worker/shell/trainer with a compute thread that is a timer.
class SimTrainer {
 public:
  SimTrainer(Cast& cast, const Life& life, TrainerId id, const v1::View& view,
             const double& slowness, const absl::Time& data_come, std::function<void()> wake);

  worker::HeldLeases& leases() { return leases_; }
  void ReportTo(worker::SessionMachine& session);

 private:
  worker::TrainerClock clock_;
  absl::Time busy_until_ = absl::InfinitePast();
  RunnerContext context_;
  worker::HeldLeases leases_;
};

class WorkerProcess {
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
  void RegisterAgain();
  void OnRegisteredAgain(const absl::StatusOr<v1::RegisterWorkerReply>& reply);
  void BeginAnew();
  void WatchView();
  void OnView(const v1::View& view);
  void Turn();  // One round of worker/shell/worker's loop.
  void TurnSoon();
  void SendHeartbeat();
  void AddFalseWords(v1::WorkerHeartbeatRequest& request);
  void OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply);
  void CarryOut(const worker::Orders& orders);
  void ReportAll();
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
  v1::View view_;
  std::map<TrainerId, std::unique_ptr<SimTrainer>> trainers_;
  std::optional<worker::SessionMachine> session_;
  uint64_t false_words_told_ = 0;
  uint64_t watch_ = 0;  // Names the present watch stream.
  absl::Time turn_at_ = absl::InfiniteFuture();
  bool registering_ = false;
  bool draining_ = false;
  absl::Time drain_deadline_ = absl::InfiniteFuture();
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_WORKER_H_
