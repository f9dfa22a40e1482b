// A small world whose chief is the real one: ChiefMachine leases to workers, which have the real
// WorkerMachine, the real leases and the real runners; it calls shards, which have the real
// partitions and the real coordinator; and it stores its state, and the manifests of checkpoints,
// in a store that is part of the world. Workers, shards and the chief die, and begin again. A world
// is a value: the explorer copies it.
//
// A worker hears of a new view together with the answer to its heartbeat, and a shard once a
// second, with its own heartbeat. A shard saves and loads in one step. What arrives of an old
// chief's calls arrives after its end: no two chiefs live at the same time. All that is the
// business of sim_test.
#ifndef CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_H_
#define CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/ps.pb.h"
#include "chief/duties/chief_machine.h"
#include "tests/simulation/world.h"
#include "worker/session/lease_work.h"

namespace capstan::simulation {

// How the world deceives the chief. Each lie has the effect of a chief that lacks one of its rules.
enum class ChiefLie {
  kNone,
  kHurriedClock,  // The chief's clock goes on by a lease more each second: leases end before time.
  kHastyStore,    // The chief takes for stored what is only on its way to the store.
  kHastyClose,    // The same, but only of states that begin no timeline.
};

struct ChiefWorldOptions {
  std::optional<v1::UpdatePolicy> dense;
  std::optional<v1::UpdatePolicy> sparse;
  int shards = 1;  // Each owns one partition. A job with lanes has one shard.
  int workers = 2;
  std::vector<uint64_t> lengths;  // The number of batches of each task or, if a part is sync, lane.
  // So many calls of runners arrive in a second, so that a job lasts for several checkpoints.
  int pace = 3;
  ChiefLie lie = ChiefLie::kNone;
};

// One thing that may happen next.
struct Move {
  enum class Kind {
    // The job ends by these alone, in the order in which ChiefWorld::Calm() chooses them.
    kStore,   // The store carries out what the chief asked for first, and the chief hears of it.
    kAnswer,  // Call `index` of the chief reaches its shard, and the answer reaches the chief.
    kBeat,    // Worker `index` sends a heartbeat, and hears the answer and the newest view.
    kStep,    // `step`, of the runners and their network.
    // A second passes: the chief's time goes on, who has died begins again, shards send heartbeats,
    // and calls of runners that have failed are repeated.
    kSecond,
    // Faults.
    kLoseBeat,    // Like kBeat, but the answer is lost.
    kRepeatBeat,  // The last heartbeat of worker `index` arrives once more.
    kLoseCall,    // Call `index` is lost.
    kLoseAnswer,  // Call `index` reaches its shard, and the answer is lost.
    kRepeatCall,  // Call `index` will arrive twice.
    kLateCall,    // Call `index`, for whose answer nobody waits, arrives.
    kMute,        // Nothing that worker `index` says reaches the chief for longer than a lease.
    kKillWorker,  // Worker `index` dies;
    kKillShard,   // shard `index`;
    kKillChief,   // the chief.
  };
  Kind kind{};
  size_t index = 0;
  Step step = {};
};

// Thread-compatible.
class ChiefWorld : private SmallWorld {
 public:
  explicit ChiefWorld(const ChiefWorldOptions& options);
  ChiefWorld(const ChiefWorld& other);
  ChiefWorld& operator=(const ChiefWorld&) = delete;
  ~ChiefWorld();

  // What happens next if nothing goes wrong and everything comes in its turn.
  Move Calm() const;
  // All that may happen instead: faults, and what comes before its turn.
  std::vector<Move> Others() const;
  void Take(const Move& move);
  std::string Describe(const Move& move) const;

  using SmallWorld::violation;
  // Returns whether the job is completed, and the store knows.
  bool done() const;
  // Returns a text of the whole state, by which states are compared.
  std::string Text() const;

 private:
  class Worker;  // chief_world_worker.h
  struct WorkerFacts;
  class WorldLease;
  struct ShardProcess {
    int life = 1;
    bool alive = true;
    uint64_t heard_term = 0;  // The highest of chiefs that it has heard of, as of timelines.
    uint64_t heard_timeline = 0;
  };
  // A call of the chief to a shard.
  struct Order {
    chief::CallShard call;
    bool orphan = false;  // Nobody waits for the answer.
    bool parked = false;  // A barrier that is not reached yet.
  };
  struct Saved {
    std::map<size_t, Partition> partitions;
    std::optional<v1::Manifest> manifest;  // Absent: the checkpoint is not complete.
  };
  struct Store {
    v1::ChiefState state;
    std::map<std::string, Saved> checkpoints;  // By folder.
  };
  // Nothing: the answer comes later.
  using Answered = std::optional<absl::StatusOr<chief::ShardReply>>;

  // chief_world.cc: the chief, its store, and time.
  void BeginChief();
  void Perform();  // What the chief's machine has asked for.
  void Do(chief::Action action);
  bool IsTakenForStored(const chief::Action& action) const;
  void CarryOutNext();
  void Second();
  void KillChief();
  void TellChief(const Order& order, absl::StatusOr<chief::ShardReply> reply);
  absl::Time ChiefTime() const { return now_ + hurry_; }
  uint64_t Term() const { return store_.state.term(); }

  // chief_world_workers.cc
  uint64_t IncarnationOf(size_t worker) const;
  bool MayBeat(size_t worker) const;
  void Register(size_t index);
  void RegisterAgain(size_t worker, const v1::RegisterWorkerRequest& request);
  void BeginAnew(size_t worker);
  void Beat(size_t worker, bool answered);
  void RepeatBeat(size_t worker);
  void TakeBack(size_t worker, const Generation& generation);
  std::unique_ptr<worker::LeaseWork> Begin(size_t holder, const v1::Lease& lease);
  bool Works(size_t worker) const;
  void KillWorker(size_t worker);
  void CheckLease(size_t worker, const v1::Lease& lease);
  size_t WorkOf(const v1::Lease& lease) const;
  void AppendWorkers(std::string& text) const;

  // chief_world_shards.cc
  uint64_t IncarnationOfShard(size_t shard) const;
  void TellOfShard(size_t shard);
  void KillShard(size_t shard);
  void FailParked();
  void AnswerParked(absl::StatusOr<chief::ShardReply> answer);
  Answered ServeOrder(const Order& order);
  absl::Status CheckOrder(const chief::CallShard& call);
  Answered Hold(const v1::HoldRoundsRequest& request, absl::Duration deadline);
  absl::StatusOr<chief::ShardReply> HoldReply() const;
  void AnswerHolds();
  absl::StatusOr<chief::ShardReply> Commit(size_t shard, const v1::CommitRoundRequest& request);
  absl::StatusOr<chief::ShardReply> CloseAll(size_t shard, const v1::CloseStreamsRequest& request);
  absl::StatusOr<chief::ShardReply> Save(size_t shard, const v1::SavePartitionsRequest& request);
  absl::StatusOr<chief::ShardReply> Load(size_t shard, const v1::LoadPartitionsRequest& request);
  void LoadRounds(size_t shard, const v1::LoadPartitionsRequest& request);
  ps::PartitionOptions OptionsIn(Timeline timeline) const;
  void CheckModel();
  void AppendShards(std::string& text) const;
  static void AppendOrder(const Order& order, std::string& text);

  ChiefWorldOptions wish_;
  chief::JobPlan plan_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  absl::Duration hurry_;                      // ChiefLie::kHurriedClock
  int arrived_ = 0;                           // Calls of runners that have arrived in this second.
  std::optional<chief::ChiefMachine> chief_;  // Absent: it has died.
  Store store_;
  std::deque<chief::Action> to_store_;  // What the chief has asked of the store, in order.
  std::vector<Order> orders_;
  std::map<size_t, size_t> holders_;  // By runner: the worker that holds its lease.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<ShardProcess> processes_;       // Of the shards.
  std::map<Generation, std::string> leased_;  // What each generation was given out for.
};

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_CHIEF_WORLD_H_
