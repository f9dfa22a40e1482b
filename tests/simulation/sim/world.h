// Everything there is in one simulated history: hosts and their processes, the network, the store,
// who watches that no rule is broken, and who breaks everything else.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "tests/simulation/sim/store.h"
#include "tests/simulation/sim/troubles.h"
#include "tests/simulation/sim/worker.h"

namespace capstan::sim {

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
// The same, of a job whose shards come and go.
WorldOptions MovesOf(uint64_t seed);
// The same, of one whose shards back each other up as well (replicas: 1).
WorldOptions BackupsOf(uint64_t seed);

struct Verdict {
  std::string violation;  // Empty: every rule held.
  uint64_t digest = 0;    // Of the history.
  uint64_t events = 0;
  absl::Duration length;    // Of the job, in virtual time.
  uint64_t timelines = 0;   // Begun by its end: one, and one for each return to a checkpoint.
  uint64_t terms = 0;       // Of chiefs.
  uint64_t manifests = 0;   // Written.
  uint64_t losses = 0;      // Returns to a checkpoint that the job tells of.
  uint64_t shards = 0;      // That the last view is over.
  uint64_t moved = 0;       // Partitions, each as often as it has.
  uint64_t promotions = 0;  // Of shards, whose backups have taken over.
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
  SimStore& store() override { return store_; }
  const Job& job() const override { return job_; }
  Checks& checks() override { return checks_; }
  Lie lie() const override { return options_.lie; }
  uint64_t NewIncarnation() override;
  HostId chief_host() override;
  uint32_t first_shards() const override { return options_.shards; }
  HostId shard_host(uint32_t shard) const override { return shard_hosts_[shard]; }
  ChiefProcess* chief(HostId host) override;
  ShardProcess* shard(uint32_t index) override { return shards_[index].get(); }
  void Exit(const Life& life, std::string_view why) override;

  // ---- blows ----
  ChiefProcess* ruling_chief() { return chiefs_[ruling_].get(); }
  HostId ruling_chief_host() const { return chief_hosts_[ruling_]; }
  // Another chief begins on another host; whoever was there before ends.
  void ReplaceChief();
  WorkerProcess* worker(size_t index) { return workers_[index].get(); }
  HostId worker_host(size_t index) const { return worker_hosts_[index]; }
  uint32_t shard_count() const { return static_cast<uint32_t>(shards_.size()); }
  // There is another shard, and a chief that knows of it. Not a second time.
  void Grow();
  // A shard that has left comes back, or there is one more, if the job may have more.
  void Join();
  // The shard leaves for good, as soon as it may. Nothing if no other one would stay.
  void Leave(uint32_t shard);
  // Ends what runs there; it begins anew after a while.
  void Kill(HostId host, absl::Duration away);
  bool JobIsOver();
  void HealAll();

 private:
  uint64_t TermOfNow();
  void StartChief();
  void StartShard(uint32_t index);
  void AddShard();
  void StartAgain(uint32_t shard);
  void StartWorker(size_t index);
  void Start(HostId host);
  void End(HostId host);
  void TellOfEnd(HostId host);  // Chiefs find out.
  void NextBlow();
  void Look();
  void SeeToShards();
  void FollowEnd();  // Of the job: when it is over, and whether it may have failed.
  void CheckFailure(const std::string& reason);
  void NoteServers();
  void CheckEnd();
  void CheckShards();                                 // At the end, where the model is with them.
  void CheckModel(const v1::GetStatusReply& status);  // At the end, where it is in the store.

  const WorldOptions options_;
  Schedule schedule_;
  Network network_;
  SimStore store_;
  const Job job_;
  Checks checks_;
  std::array<HostId, 2> chief_hosts_;  // The ruling one's, and its predecessor's or successor's.
  size_t ruling_ = 0;
  uint32_t wished_;  // Shards, as chiefs are told that begin.
  std::vector<HostId> shard_hosts_;
  std::set<uint32_t> leaving_;               // Shards; those that have left, too.
  std::map<uint32_t, uint64_t> left_under_;  // Those, and the term of the chief of then.
  std::vector<HostId> worker_hosts_;
  std::array<std::unique_ptr<ChiefProcess>, 2> chiefs_;
  std::vector<std::unique_ptr<ShardProcess>> shards_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  uint64_t incarnations_ = 0;
  uint64_t chiefs_begun_ = 0;
  uint64_t last_term_ = 0;
  std::optional<absl::Duration> over_;  // Since when the job is.
  bool failed_ = false;                 // And how.
  std::set<uint64_t> ended_with_;       // Incarnations of the shards that served then.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_WORLD_H_
