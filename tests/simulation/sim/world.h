// Everything there is in one simulated history: hosts and their processes, the network, the store,
// who watches that no rule is broken, and who breaks everything else.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/job.h"
#include "tests/simulation/sim/network.h"
#include "tests/simulation/sim/schedule.h"
#include "tests/simulation/sim/shard.h"
#include "tests/simulation/sim/worker.h"

namespace capstan::sim {

// What may happen in a history, and for how long.
struct Troubles {
  absl::Duration until = absl::Seconds(20);           // Then everything is well.
  absl::Duration between = absl::Milliseconds(1500);  // Two blows, on average.
  Weather weather;
  bool kill_workers = false;
  bool drain_workers = false;
  bool freeze_workers = false;
  bool freeze_shards = false;
  bool freeze_chief = false;
  bool cut_links = false;
};

struct WorldOptions {
  uint64_t seed = 0;
  bool trace = false;
  JobOptions job;
  uint32_t shards = 2;
  uint32_t workers = 3;
  Troubles troubles;
  Lie lie = Lie::kNone;
};

// Everything drawn from the seed: policy, sizes, troubles.
WorldOptions WorldOf(uint64_t seed);

struct Verdict {
  std::string violation;  // Empty: every rule held.
  uint64_t digest = 0;    // Of the history.
  uint64_t events = 0;
  absl::Duration length;  // Of the job, in virtual time.
};

// Confined to one thread.
class World : public Cast {
 public:
  explicit World(const WorldOptions& options);
  ~World() override;

  // Until the job is over, or a rule is broken.
  Verdict Run();

  // ---- Cast ----
  Schedule& schedule() override { return schedule_; }
  Network& network() override { return network_; }
  const Job& job() const override { return job_; }
  Checks& checks() override { return checks_; }
  Lie lie() const override { return options_.lie; }
  uint64_t NewIncarnation() override;
  HostId chief_host() const override { return chief_host_; }
  HostId shard_host(uint32_t shard) const override { return shard_hosts_[shard]; }
  ChiefProcess* chief() override { return chief_.get(); }
  ShardProcess* shard(uint32_t index) override { return shards_[index].get(); }
  void Exit(const Life& life, std::string_view why) override;

 private:
  void StartChief();
  void StartShard(uint32_t index);
  void StartWorker(size_t index);
  void NextBlow();
  void Strike();
  void HealAll();
  HostId AnyHost();
  void KillWorker(size_t index, absl::Duration away);
  bool JobIsOver();
  void CheckEnd();

  const WorldOptions options_;
  Schedule schedule_;
  Network network_;
  const Job job_;
  Checks checks_;
  HostId chief_host_;
  std::vector<HostId> shard_hosts_;
  std::vector<HostId> worker_hosts_;
  std::unique_ptr<ChiefProcess> chief_;
  std::vector<std::unique_ptr<ShardProcess>> shards_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  uint64_t incarnations_ = 0;
  bool healed_ = false;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_
