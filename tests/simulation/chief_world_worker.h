// A worker of a ChiefWorld: the machine of a worker process with the leases of its one trainer.
// What these ask for is kept until the world carries it out.
#ifndef CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_WORKER_H_
#define CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/chief_world.h"
#include "worker/machines/trainer_clock.h"
#include "worker/session/held_leases.h"
#include "worker/session/lease_work.h"
#include "worker/session/trainer_work.h"
#include "worker/session/worker_machine.h"

namespace capstan::simulation {

// One lease at work: it is carried out by a runner of the world. Thread-compatible.
class ChiefWorld::WorldLease final : public worker::LeaseWork {
 public:
  // `world`, of which `runner` and `holder` are indexes, must outlive the lease.
  WorldLease(ChiefWorld& world, size_t runner, size_t holder) : world_(world), runner_(runner) {
    world_.holders_[runner] = holder;
  }
  ~WorldLease() override { world_.holders_.erase(runner_); }

  size_t runner() const { return runner_; }

  void Deliver(worker::Event event) override { world_.Feed(runner_, std::move(event)); }
  void Extend(const v1::Lease& extended) override { Edit().OnExtended(extended); }
  // Partitions stay where they are within a timeline. A call to a shard that has begun anew fails,
  // and is made again.
  void OnView(const std::vector<ShardIndex>&) override {}
  absl::Time NextWake() const override { return lifecycle().machine().NextWake(); }
  bool over() const override { return lifecycle().over(); }
  bool HasReadAll() const override {
    return lifecycle().machine().progress().total_batches.has_value();
  }
  bool HasNews() const override { return lifecycle().HasNews(); }
  v1::LeaseReport Report() override { return Edit().Report(); }

 private:
  const worker::LeaseLifecycle& lifecycle() const {
    return world_.runners_[runner_].lease->lifecycle;
  }
  worker::LeaseLifecycle& Edit() { return world_.runners_.Edit(runner_).lease->lifecycle; }

  ChiefWorld& world_;
  const size_t runner_;
};

// What the world knows of a worker, beside its machine.
struct ChiefWorld::WorkerFacts {
  std::string name;
  size_t index = 0;
  int life = 1;  // How many incarnations it has had, with the present one.
  bool alive = true;
  bool due = false;      // Its heartbeat of this second is still to come.
  int mute_seconds = 0;  // So long it is not heard.
  uint64_t former = 0;
  std::optional<v1::WorkerHeartbeatRequest> last;
  absl::Time heard = absl::InfinitePast();  // By the chief of `heard_term`.
  uint64_t heard_term = 0;
};

// Thread-compatible.
class ChiefWorld::Worker final : public worker::WorkerShell, public worker::TrainerWork {
 public:
  // `world` must outlive the worker.
  Worker(ChiefWorld& world, size_t index);
  // Goes on in `world`, which is a copy of the other's.
  Worker(ChiefWorld& world, const Worker& other);

  WorkerFacts facts;

  bool registered() const { return machine_.has_value(); }
  // The chief has registered it, and begun a trainer.
  void Begin(const v1::RegisterWorkerReply& reply, uint64_t incarnation);
  // The process has ended.
  void End();

  // The rest REQUIRES: registered().
  v1::WorkerHeartbeatRequest NextHeartbeat();
  void OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply);
  void OnView(const v1::View& view) { machine_->OnView(view); }
  // Returns the request by which it registers again, if the answer to its heartbeat has asked for
  // that. Answered by OnRegistered, which returns false if the incarnation is not wanted any more.
  std::optional<v1::RegisterWorkerRequest> TakeRegistration();
  bool OnRegistered(const absl::StatusOr<v1::RegisterWorkerReply>& reply);
  void AppendText(std::string& text) const;

 private:
  void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) override { heartbeat_ = request; }
  void SendRegistration(const v1::RegisterWorkerRequest& request) override {
    registration_ = request;
  }
  v1::WorkerReport MakeReport() override { return {}; }
  uint64_t trained() const override { return 0; }

  worker::HeldLeases& leases() override { return *leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override {
    leases_->OnView(view, restarted);
  }
  double StepSeconds() const override { return 0; }

  worker::HeldLeases::BeginWork BeginWork();

  ChiefWorld& world_;
  TrainerId trainer_{};
  // It stands still: each runner has a clock of its own, and only ssp, which these worlds do not
  // have, goes by clocks.
  worker::TrainerClock clock_;
  std::optional<worker::HeldLeases> leases_;
  std::optional<worker::WorkerMachine> machine_;  // Absent: it is not registered.
  // The machine's time, which stands still between heartbeats: they come when the explorer says so.
  absl::Time beat_time_ = absl::UnixEpoch();
  std::optional<v1::WorkerHeartbeatRequest> heartbeat_;
  std::optional<v1::RegisterWorkerRequest> registration_;
};

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_WORKER_H_
