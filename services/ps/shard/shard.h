// A shard: its partitions, the rounds and clocks they share, the coordinator if it owns partition
// 0. Everything the RPCs of a shard do, without RPC.
#ifndef CAPSTAN_PS_SHARD_SHARD_H_
#define CAPSTAN_PS_SHARD_SHARD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/shard/catalog.h"
#include "ps/shard/clock_shell.h"
#include "ps/shard/coordinator_shell.h"
#include "ps/shard/copy_turn.h"
#include "ps/shard/counted_lanes.h"
#include "ps/shard/memory_budget.h"
#include "ps/shard/partition.h"
#include "ps/shard/pull_query.h"
#include "ps/shard/push_message.h"
#include "ps/shard/push_pieces.h"
#include "ps/shard/replica_streams.h"
#include "ps/shard/replica_wait.h"
#include "ps/shard/rounds.h"
#include "ps/shard/seal_check.h"
#include "ps/shard/shard_identity.h"
#include "ps/shard/shard_metrics.h"
#include "ps/shard/viewed_moves.h"

namespace capstan::ps {

// Where the rounds of a timeline begin on a shard.
struct RoundsStart {
  uint64_t passed = 0;                          // By every partition.
  std::optional<CoordinatorState> coordinator;  // On the coordinator; without it, the first round.
};

// A partition as it has come from another shard, and where what goes with it stands there.
struct MovedPartition {
  Timeline timeline{};
  PartitionContent content;
  RoundCommit passed;                           // With a synchronous part.
  std::vector<FinishedClock> clocks;            // ssp.
  std::optional<CoordinatorState> coordinator;  // With a synchronous part, of partition 0.
};

// *Thread-safe*.
class Shard {
 public:
  // `waited`: for slower trainers (ssp).
  using OnPulled =
      absl::AnyInvocable<void(absl::StatusOr<grpc::ByteBuffer>, absl::Duration waited)>;

  // `metrics` and `clock` must outlive the shard. INVALID_ARGUMENT: the job cannot be served.
  static absl::StatusOr<std::unique_ptr<Shard>> Create(const v1::JobSpec& job,
                                                       const ShardIdentity& identity,
                                                       ShardMetrics& metrics, const Clock& clock);

  // What the chief says of the job now, which may be another chief: takes up what may change while
  // a job goes on. ABORTED: the job has begun anew as one that this shard cannot serve.
  absl::Status LearnJob(const v1::JobSpec& job);

  // Takes a newer view; older ones are ignored. One of a later timeline ends what is served.
  absl::Status SetView(const v1::View& view);

  // Checks the header of a request. UNIMPLEMENTED: another wire version; FAILED_PRECONDITION: meant
  // for another process, or of another timeline; UNAVAILABLE: nothing is loaded.
  absl::Status CheckHeader(const v1::RequestHeader& header) const;
  // Checks the header of an order of the chief. FAILED_PRECONDITION: meant for another process, or
  // a chief of a later term has been heard of. Whether anything is loaded, and of which timeline,
  // is another matter.
  absl::Status CheckOrder(const v1::RequestHeader& header);

  // ---- its contents: BeginLoad, then Load each partition, then Serve ----

  // Ends what is served. FAILED_PRECONDITION: a later timeline has been heard of.
  absl::Status BeginLoad(uint64_t timeline);
  // Drops all contents.
  void Unload();
  // REQUIRES: the index is a partition's.
  void Load(PartitionIndex index, PartitionContent content);
  // Serves what has been loaded. FAILED_PRECONDITION: a later timeline has been heard of.
  absl::Status Serve(uint64_t timeline, const RoundsStart& rounds);

  // Answers now, or (ssp) when slower trainers have come up, on another thread; DEADLINE_EXCEEDED
  // after `deadline`, which is of the shard's clock, as all deadlines here. The waiter, if it is
  // parked, may be forgotten by clocks().
  std::optional<WaiterId> Pull(std::unique_ptr<const PullQuery> query, absl::Time deadline,
                               OnPulled done);

  // Reads a push whole, before anything is done. INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION:
  // see PushMessage. RESOURCE_EXHAUSTED: what waits for others takes all the memory that it may,
  // and it is not the turn of this push's lane; that one is always taken in, for those above it
  // wait for it (docs/spec, rule 21).
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(const grpc::ByteBuffer& buffer);

  // INVALID_ARGUMENT: no such lane. UNAVAILABLE: a generation that the chief has not granted for
  // this, as far as this shard knows the chief's key, a round that the coordinator has not closed
  // so, or a clock by a view that this shard has to hear of first.
  struct Pushed {
    v1::PushReply reply;
    ReleasedPulls released;  // To be destroyed when the reply is on its way.
    ReplicaWait replicated;  // Before it is.
  };
  absl::StatusOr<Pushed> Push(const std::shared_ptr<const PushMessage>& push);

  // ---- as the coordinator has told ----

  // Returns whether rounds of the job are added to before they close.
  bool AddsCounted() const;
  // Adds, in every partition, what is counted and whose turn it is. False: the news are of another
  // timeline than the present one, and nothing is learned.
  bool LearnCounts(uint64_t timeline, const LaneNews& news);

  // ---- the chief's calls ----

  // What backups have to carry out before the chief is answered is added to `replicated`.
  absl::Status CommitRound(const v1::CommitRoundRequest& request, ReplicaWait& replicated);
  absl::Status CloseStreams(const v1::CloseStreamsRequest& request, ReplicaWait& replicated);
  uint64_t Flush(ReplicaWait& replicated);
  // Calls visit(partition) for each that is served, ascending, until one fails.
  absl::Status ForEachPartition(absl::FunctionRef<absl::Status(PartitionIndex, Partition&)> visit);

  // ---- moves: what the newest view says of them, and what it makes of partitions ----

  std::shared_ptr<const ViewedMoves> moves() const;
  // REQUIRES: the index is a partition's.
  Partition& partition(PartitionIndex index) {
    return *partitions_[static_cast<size_t>(Raw(index))];
  }
  // Drops one partition, which another shard has; partition 0 with the coordinator.
  void Leave(PartitionIndex index);
  // Serves a partition that has come. FAILED_PRECONDITION: its timeline is not what is served.
  absl::Status Serve(PartitionIndex index, MovedPartition moved);
  // Its round is learned, and commits are kept for it until it is served or given up. Errors are
  // those of Rounds::Pin.
  absl::Status Expect(Timeline timeline, const RoundCommit& passed);
  void GiveUp(Timeline timeline, const RoundCommit& passed);

  // What was closed last of what a partition has passed: it goes with one that leaves.
  RoundCommit Passed(uint64_t round) const { return rounds_.SetOf(round); }

  CopyTurn& copies() { return copies_; }

  // ---- replicas: shard_replicas.cc ----

  // Until then nobody takes this shard's place, so it may answer pulls, in a job with replicas.
  void SetLease(absl::Time until);
  // Does what the newest view says of the backups of partitions that are served here. Call after
  // every view, before those that are frozen for a pair are thawed.
  void FollowPairs();
  // The partition is handed over, and this process stays as its backup. Gives how long it was
  // frozen; nothing, and nothing is done: it is not frozen for the move by which that one's copy is
  // known.
  std::optional<absl::Duration> StandDown(PartitionIndex index, const ViewedStandby& standby);
  // Does what it says of partitions that are backed up here: serves those of which this process has
  // become the owner, and drops what is not named. Call after what has left has been dropped.
  void FollowStandbys();
  // DATA_LOSS: the newest view says that this process has a copy of a partition that it has not.
  absl::Status CheckOwned() const;
  // The views that have been followed so far. UNAVAILABLE: an order of a later one has come, which
  // may give this shard partitions that the order is meant for, too.
  void Followed(ViewEpoch epoch);
  ViewEpoch followed() const;
  absl::Status CheckFollowed(const v1::RequestHeader& header) const;
  // Takes a partition that has come as the backup of this pair. Errors are those of Serve.
  absl::Status Adopt(PartitionIndex index, MovedPartition moved, const ViewedStandby& standby);
  // Carries out what the owner of a partition has done that is backed up here. FAILED_PRECONDITION:
  // it is not; others: the copy is out of step with its owner's, and is of no use from now on.
  // `share`: what a push carried, or why that cannot be read.
  absl::Status Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                      const absl::StatusOr<PushShare>& share);
  // Returns a push that an owner has carried out. Errors are those of PushMessage::Read.
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadReplicated(const grpc::ByteBuffer& push);
  ReplicaStreams& streams() { return streams_; }
  const ShardIdentity& identity() const { return identity_; }

  // ---- housekeeping ----

  // Answers those whose wait is over; call at least every kTick.
  static constexpr absl::Duration kTick = absl::Milliseconds(50);
  void Tick();
  // Forgets the push sessions of clients that have been silent for long; call every heartbeat.
  void ExpireSessions(absl::Time now);
  ShardMetrics::ShardFacts Facts() const;
  v1::ShardReport Report() const;

  const Catalog& catalog() const { return catalog_; }
  const Clock& clock() const { return clock_; }
  SealCheck& seals() { return seals_; }
  ClockShell& clocks() { return clocks_; }
  // The coordinator of rounds, if partition 0 is here.
  CoordinatorShell& coordinator() { return coordinator_; }
  SlabArena& slabs() { return slabs_; }
  ShardMetrics& metrics() { return metrics_; }
  // What copies may keep: with synchronous parts, a share of what the shard holds.
  void LimitKept();
  KeptBytes& kept() { return kept_; }

  // ---- memory beside the parameters ----

  // The shard may take so many bytes: each use gets its share of them (MemoryBudget). Until then no
  // use has a limit but pulls that wait, and what is on its way to backups.
  void SetMemory(uint64_t bytes);
  MemoryBudget& memory() { return memory_; }
  // The account of gradients that wait for others.
  ByteBudget& waiting_gradients() { return memory_.of(MemoryUse::kWaitingGradients); }
  // Pushes that have come in part.
  PushPieces& pieces() { return pieces_; }

  // The timeline of what is served; 0: nothing is.
  uint64_t timeline() const { return timeline_.load(std::memory_order_acquire); }
  bool ready() const { return timeline() != 0; }

 private:
  Shard(Catalog catalog, const ShardIdentity& identity, ShardMetrics& metrics, const Clock& clock);

  ShardMetrics::MemoryByUse Memory() const;
  absl::Status CheckTarget(const v1::RequestHeader& header) const;
  // What a push says of the last round, if it is of one. REQUIRES: its seals have been checked.
  absl::Status LearnRoundOf(const v1::PushRequest& head);
  // Whether something of the push may have to wait for other pushes.
  bool MayWait(const v1::PushRequest& head) const;
  // Whether it is the turn of the push's lane in its round, or the round is over.
  bool IsNext(const v1::PushRequest& head) const;
  // True: a later timeline has begun.
  bool Hear(uint64_t term, uint64_t timeline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(view_mu_);
  bool IsEmpty() const;  // No partition is here.
  bool ServesNone() const;
  absl::Status CheckClock(const v1::RequestHeader& header) const;
  // Learns of a round that somebody says is closed: the chief, another shard, or a trainer, who has
  // to show the seal.
  enum class Teller { kChief, kTrainer, kShard };
  absl::Status LearnRound(uint64_t timeline, const v1::RoundCommit& closed, Teller teller);
  void SweepRounds();

  absl::StatusOr<grpc::ByteBuffer> PullNow(const PullQuery& query);

  // ---- shard_replicas.cc ----
  absl::Status CheckLease() const;
  std::shared_ptr<ReplicaStream> StreamTo(const ViewedPair& pair);
  void Promote(PartitionIndex index);
  void AddBroken(v1::ShardReport& report) const;
  absl::Status ReplayCoordinator(const v1::Operation& operation);

  const Catalog catalog_;
  const ShardIdentity identity_;
  ShardMetrics& metrics_;
  const Clock& clock_;
  const bool replicated_;  // Partitions have backups.
  std::atomic<uint64_t> timeline_{0};
  MemoryBudget memory_;
  PushPieces pieces_{memory_};
  ReplicaStreams streams_;
  Rounds rounds_;
  CountedLanes counted_;
  SlabArena slabs_;
  KeptBytes kept_;
  const PartitionContext context_;

  std::vector<std::unique_ptr<Partition>> partitions_;  // All of the job's; most are empty.
  mutable absl::Mutex view_mu_;
  ViewEpoch epoch_ ABSL_GUARDED_BY(view_mu_);              // The newest view's epoch.
  uint64_t heard_term_ ABSL_GUARDED_BY(view_mu_) = 0;      // The highest,
  uint64_t heard_timeline_ ABSL_GUARDED_BY(view_mu_) = 0;  // by views and orders.
  // Shared with those who act by it.
  std::shared_ptr<const ViewedMoves> moves_ ABSL_GUARDED_BY(view_mu_) =
      std::make_shared<const ViewedMoves>();
  ViewEpoch followed_ ABSL_GUARDED_BY(view_mu_);
  absl::Time lease_until_ ABSL_GUARDED_BY(view_mu_) = absl::InfinitePast();
  absl::Mutex contents_mu_;  // Held while partitions come and go other than by an order to load.
  CopyTurn copies_;

  SealCheck seals_;
  ClockShell clocks_;
  CoordinatorShell coordinator_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_H_
