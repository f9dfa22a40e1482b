// A shard process of a simulated world: the real ps::Shard behind its real door, with its tables
// and its wire, its saver, its loader, and what sends and takes partitions. What comes from the
// network and from the chief is simulated (ps/door/ps_service and ps/process/chief_link in a real
// process).
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_SHARD_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_SHARD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/message/any_message.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/door/shard_door.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/coordinator_watch.h"
#include "ps/shard/shard.h"
#include "ps/transfer/loader.h"
#include "ps/transfer/mover.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/saver.h"
#include "ps/transfer/staged_partitions.h"
#include "ps/transfer/view_followers.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/model.h"
#include "tests/simulation/sim/replica_sender.h"
#include "tests/simulation/sim/threads.h"

namespace capstan::sim {

class ShardProcess {
 public:
  ShardProcess(Cast& cast, const Life& life, uint32_t index);
  ~ShardProcess();  // Nobody hears of what it waits for.

  uint64_t incarnation() const { return incarnation_; }
  bool ready() const { return shard_ != nullptr && shard_->ready(); }
  bool draining() const { return draining_; }
  // The chief can do without what it holds.
  bool may_leave() const { return may_leave_; }

  // ---- its door ----
  void Pull(v1::PullRequest request, absl::Time deadline, const Done<v1::PullReply>& done);
  void Push(const v1::PushRequest& request, const Done<v1::PushReply>& done);
  void OpenRound(const v1::OpenRoundRequest& request, const Done<v1::OpenRoundReply>& done);
  void ReportLane(const v1::ReportLaneRequest& request, const Done<v1::ReportLaneReply>& done);
  void WatchCounts(const v1::WatchCountsRequest& request, absl::Time deadline,
                   const Done<v1::WatchCountsReply>& done);
  // An order of the chief.
  void Order(const AnyMessage& order, absl::Time deadline, const Done<AnyMessage>& done);
  absl::StatusOr<v1::TakePartitionReply> TakePartition(const v1::TakePartitionRequest& request);
  absl::StatusOr<v1::ReplicateReply> Replicate(const grpc::ByteBuffer& bytes);

  const Life& life() const { return life_; }
  void Drain();  // SIGTERM.

  // Every parameter that it serves by the view, as an evaluator would read them; UNAVAILABLE while
  // it serves none.
  Reading Read(const v1::View& view);
  // The same by the newest view that it has of where the partitions are.
  Reading Read() { return Read(placed_); }

 private:
  ps::ShardDoor door() const { return ps::ShardDoor(served_ ? &*served_ : nullptr); }
  template <typename Reply>
  ps::Answered<Reply> WhileItLives(const Done<Reply>& done) const;
  absl::Duration PatienceUntil(absl::Time deadline) const;
  void Distort(v1::RoundCommit& closed) const;
  AnyMessage Heard(const AnyMessage& order) const;
  std::optional<absl::StatusOr<AnyMessage>> FalseAnswer(const AnyMessage& order) const;
  AnyMessage Told(const AnyMessage& reply) const;
  void OnMoveOrdered(const v1::MovePartitionsRequest& order,
                     const absl::StatusOr<AnyMessage>& reply);
  absl::StatusOr<ps::Shard::Pushed> PushNow(const v1::PushRequest& request);
  template <typename Request>
  std::map<uint32_t, ViewEpoch> OriginsOf(const Request& request);
  void Register();
  void OnRegistered(const v1::RegisterShardReply& reply);
  void WatchView();
  void OnView(const v1::View& view);
  void WatchCoordinator(ps::CoordinatorWatch& watch);
  // A process in four is of an earlier release: it does not ask for commits.
  bool early() const { return incarnation_ % 4 == 0; }
  void Heartbeat();
  void Tick();
  void CheckServed();
  void ReleaseLate(ps::ReleasedPulls released, const v1::View& view);

  Cast& cast_;
  const Life life_;
  const uint32_t index_;
  const std::string secret_;
  const uint64_t incarnation_;
  SimThreads threads_;
  BusyThreads busy_threads_;
  metrics::Registry registry_;
  ps::ShardMetrics metrics_;
  std::unique_ptr<ps::Shard> shard_;
  std::deque<ps::CoordinatorWatch> watches_;  // In synchronous jobs.
  std::optional<ps::Saver> saver_;
  std::optional<ps::Loader> loader_;
  std::optional<ps::Mover> mover_;
  std::optional<ps::StagedPartitions> staged_;
  std::optional<ps::Replicator> replicator_;
  std::optional<ps::ServedShard> served_;  // All these, once the job is known.
  std::optional<ps::ViewFollowers> followers_;
  std::optional<ReplicaSender> sender_;  // With replicas.
  bool ending_ = false;
  bool draining_ = false;
  bool may_leave_ = false;
  absl::Time heard_ = absl::InfinitePast();  // Of the chief.
  absl::Time drain_deadline_ = absl::InfiniteFuture();
  v1::View view_;    // The newest that it took,
  v1::View placed_;  // and that says where the partitions are.
  // What a push or a view releases is judged when the change is known.
  bool acting_ = false;
  std::vector<v1::PullRequest> answered_;  // Not checked yet.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_SHARD_H_
