// A chief's machine with shards that answer its calls and workers that say what a test tells them
// to: what the tests of the machine are written in.
#ifndef CAPSTAN_TESTS_UNIT_CHIEF_CREW_H_
#define CAPSTAN_TESTS_UNIT_CHIEF_CREW_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "chief/duties/chief_machine.h"
#include "tests/unit/chief/crew_job.h"

namespace capstan::chief {

class Crew {
 public:
  explicit Crew(const CrewOptions& options = {});
  // The next chief of a job that another crew has left like this, after `gap` without any.
  static Crew Successor(const CrewOptions& options, const Crew& before,
                        absl::Duration gap = absl::Seconds(1));

  // ---- shards ----
  absl::Status RegisterShard(uint32_t index, uint64_t incarnation = 0);
  void RegisterShards();
  void ShardsHeartbeat();
  v1::ShardHeartbeatReply ShardHeartbeat(uint32_t index, bool draining = false);
  // What the shard has of the table, and of batches it found missing.
  std::map<uint32_t, v1::ShardReport> reports;
  // Those that say at their heartbeats that they leave.
  std::set<uint32_t> draining;
  // The process is gone, and says nothing any more.
  void Stop(uint32_t index) { shards.erase(index); }
  // So it is, and somebody has found that its port refuses connections.
  void Kill(uint32_t index);
  // Answers every call that the machine has made, until it makes none.
  void AnswerCalls();
  // From now on calls of this kind are kept in `held` instead of being answered.
  bool hold_calls = false;
  std::vector<CallShard> held;
  void Answer(const CallShard& call);

  void TakeCheckpoint();

  // ---- workers ----
  uint64_t RegisterWorker(const std::string& name, uint64_t incarnation = 0,
                          const std::vector<uint64_t>& trainers = {}, const std::string& peer = "");
  // What it says when it has nothing to say.
  v1::WorkerHeartbeatRequest HeartbeatOf(const std::string& name) const;
  v1::WorkerHeartbeatReply Heartbeat(const std::string& name,
                                     const std::vector<v1::LeaseReport>& reports = {},
                                     bool wants = true, bool draining = false);
  // Does what it is given until it is given nothing; every lease is done in one heartbeat.
  void WorkToTheEnd(const std::vector<std::string>& names, int rounds = 200);

  // A report that the lease's work is done, or this many batches of it.
  static v1::LeaseReport Done(const v1::Lease& lease);
  static v1::LeaseReport Partly(const v1::Lease& lease, uint64_t batches);
  // Each lane of the job is among these leases, and has been in so many rounds, as the coordinator
  // says, too. Returns what their holder reports of them.
  std::vector<v1::LeaseReport> CloseRounds(const v1::WorkerHeartbeatReply& held, uint64_t rounds);

  void Advance(absl::Duration by);  // Time goes by, with ticks; shards go on being heard of.
  v1::GetStatusReply Status() { return machine.Status(now); }

  absl::Time now;
  ChiefMachine machine;

  // What the machine has asked for so far.
  std::vector<v1::View> views;
  std::vector<AppendCurve> curve;
  std::vector<WriteManifest> manifests;
  std::vector<v1::ChiefState> states;
  std::vector<std::string> deleted;
  std::vector<AnswerCheckpoint> checkpoint_answers;
  std::vector<LogEvent> log;
  std::map<std::string, int> answered;  // Calls by name.
  std::vector<std::string> order;       // Names of calls but loads, in the order answered.
  std::map<uint32_t, std::map<uint64_t, uint64_t>> closed;  // Shard -> stream -> batches.
  std::vector<v1::LoadPartitionsRequest> loads;
  std::vector<v1::SavePartitionsRequest> saves;
  std::vector<std::pair<uint32_t, v1::MovePartitionsRequest>> move_orders;  // By source.
  uint64_t round = 0;  // What the coordinator says was closed last.
  std::vector<uint64_t> lane_cursors;

  // What becomes of the chief's own writes and reads, and of the shards' work.
  absl::Status state_status;
  bool hold_states = false;  // Writes of the state are not answered.
  absl::Status manifest_status;
  bool hold_manifests = false;  // Writes of manifests are not answered.
  absl::Status save_status;
  uint64_t batches_lost = 0;  // What a shard that loads alone finds missing.
  absl::Status move_status;
  int moves_until_done = 1;  // Answers of each source until it says that it is done with a phase.
  int saves_until_done = 1;  // Answers of each shard until it says that it is done,
  int partitions_saved_each = 0;  // and in each of them so many partitions more are saved.
  std::map<std::string, absl::Status> damaged;        // Manifests by uri, and
  std::map<std::string, absl::Status> damaged_parts;  // what shards load.

  struct Process {
    uint64_t incarnation = 0;
    uint64_t loaded_timeline = 0;
    std::string secret = {};  // Which it shows the chief; empty: it shows none.
  };
  std::map<uint32_t, Process> shards;

 private:
  Crew(const CrewOptions& options, const JobHistory& history, absl::Time now, uint64_t term);
  void TakeActions(std::vector<CallShard>& calls);
  void Perform(Action& action, std::vector<CallShard>& calls);
  absl::StatusOr<v1::Manifest> ManifestAt(const std::string& uri) const;

  // What a shard answers to an order of the chief: an empty reply, where nothing is said here.
  absl::StatusOr<ShardReply> ReplyTo(uint32_t shard, const ShardRequest& request);
  v1::HoldRoundsReply Held() const;
  v1::CloseStreamsReply ReplyOf(uint32_t shard, const v1::CloseStreamsRequest& close);
  absl::StatusOr<v1::SavePartitionsReply> ReplyOf(uint32_t shard,
                                                  const v1::SavePartitionsRequest& save);
  absl::StatusOr<v1::LoadPartitionsReply> ReplyOf(uint32_t shard,
                                                  const v1::LoadPartitionsRequest& load);
  absl::StatusOr<v1::MovePartitionsReply> ReplyOf(uint32_t shard,
                                                  const v1::MovePartitionsRequest& move);

  uint32_t shards_;
  uint64_t shard_memory_ = 0;
  std::map<std::string, std::pair<uint64_t, std::vector<uint64_t>>> workers_;
  uint64_t incarnations_ = 100;
  std::map<std::pair<std::string, uint32_t>, int> saves_asked_;
  std::map<std::tuple<uint64_t, uint32_t, bool>, int> moves_asked_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_UNIT_CHIEF_CREW_H_
