// A shard: its partitions, the rounds and clocks that they share, and the coordinator if the shard
// owns partition 0. Does all that the RPCs of a shard do, and knows no RPC.
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
#include "ps/shard/own_view.h"
#include "ps/shard/partition.h"
#include "ps/shard/pull_query.h"
#include "ps/shard/push_message.h"
#include "ps/shard/push_pieces.h"
#include "ps/shard/replica_streams.h"
#include "ps/shard/replica_wait.h"
#include "ps/shard/rounds.h"
#include "ps/shard/seal_check.h"
#include "ps/shard/shard_facts.h"
#include "ps/shard/shard_identity.h"
#include "ps/shard/shard_metrics.h"

namespace capstan::ps {

// Where the rounds of a timeline begin on a shard.
struct RoundsStart {
  uint64_t passed = 0;                          // Rounds that every partition has passed.
  std::optional<CoordinatorState> coordinator;  // If partition 0 is here; none: the first round.
};

// A partition that has come from another shard, with the rounds, clocks and coordinator's state
// there.
struct MovedPartition {
  Timeline timeline{};
  PartitionContent content;
  RoundCommit passed;                           // If a part is synchronous.
  std::vector<FinishedClock> clocks;            // If a part is ssp.
  std::optional<CoordinatorState> coordinator;  // With partition 0, if a part is synchronous.
};

// *Thread-safe*.
class Shard {
 public:
  // `waited`: how long the pull has waited for slower trainers (ssp).
  using OnPulled =
      absl::AnyInvocable<void(absl::StatusOr<grpc::ByteBuffer>, absl::Duration waited)>;

  // `metrics` and `clock` must outlive the shard. INVALID_ARGUMENT: the job cannot be served.
  static absl::StatusOr<std::unique_ptr<Shard>> Create(const v1::JobSpec& job,
                                                       const ShardIdentity& identity,
                                                       ShardMetrics& metrics, const Clock& clock);

  // Takes up the settings that may change while a job goes on from `job`, as the present chief
  // tells it. ABORTED: the job has begun anew as one that this shard cannot serve.
  absl::Status LearnJob(const v1::JobSpec& job);

  // Takes `view`, unless it is not newer than the last one. A view of a later timeline ends
  // serving. INVALID_ARGUMENT: the view maps another number of partitions than the job has.
  absl::Status SetView(const v1::View& view);

  // Checks the header of a data request. UNIMPLEMENTED: another wire version; FAILED_PRECONDITION:
  // the request is meant for another process, or is of another timeline; UNAVAILABLE: the shard
  // serves nothing yet.
  absl::Status CheckHeader(const v1::RequestHeader& header) const;
  // Checks the header of an order of the chief. UNIMPLEMENTED: another wire version;
  // FAILED_PRECONDITION: the order is meant for another process, or a chief of a later term has
  // been heard of. Does not check whether anything is served, or the timeline.
  absl::Status CheckOrder(const v1::RequestHeader& header);

  // ---- its contents: BeginLoad, then Load each partition, then Serve ----

  // Ends serving, so that `timeline` can be loaded. FAILED_PRECONDITION: a later timeline has been
  // heard of.
  absl::Status BeginLoad(uint64_t timeline);
  // Drops the contents of all partitions.
  void Unload();
  // REQUIRES: the index is a partition's.
  void Load(PartitionIndex index, PartitionContent content);
  // Serves what has been loaded. FAILED_PRECONDITION: a later timeline has been heard of.
  absl::Status Serve(uint64_t timeline, const RoundsStart& rounds);

  // Calls `done` now, or (ssp) on another thread when slower trainers have come up; with
  // DEADLINE_EXCEEDED after `deadline`, which is of the shard's clock, as are all deadlines here.
  // OUT_OF_RANGE as of Push().
  // Returns a waiter if the pull is parked, which clocks().Forget() may forget.
  std::optional<WaiterId> Pull(std::unique_ptr<const PullQuery> query, absl::Time deadline,
                               OnPulled done);

  // Reads and checks a whole push, before any of it is carried out. INVALID_ARGUMENT, NOT_FOUND,
  // FAILED_PRECONDITION: see PushMessage::Read. RESOURCE_EXHAUSTED: waiting gradients take all the
  // memory that they may. The push of the lane whose turn it is is taken in even then, as the lanes
  // above wait for it (docs/spec, rule 21).
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(const grpc::ByteBuffer& buffer);

  // Carries out a push. INVALID_ARGUMENT: no such lane. UNAVAILABLE: the seals do not show that the
  // chief has granted this generation of the lane or stream (as far as this shard knows the chief's
  // key), or that the coordinator has closed the round with these lanes; or the push tells a clock
  // by a view that this shard has yet to hear of. OUT_OF_RANGE, and nothing is done: the push is
  // for a round, carries no commit of the round before, and this shard has not heard of that.
  struct Pushed {
    v1::PushReply reply;
    ReleasedPulls released;  // Destroy it when the reply is on its way.
    ReplicaWait replicated;  // Wait for it before the reply is sent.
  };
  absl::StatusOr<Pushed> Push(const std::shared_ptr<const PushMessage>& push);

  // ---- what the coordinator tells ----

  // Returns true if gradients are added to the sum of a round before the round closes, in either
  // part.
  bool AddsCounted() const;
  // Learns whose gradients the coordinator has counted, and adds those whose turn it is in every
  // partition. Returns false and changes nothing if `timeline` is not the present one.
  bool LearnCounts(uint64_t timeline, const LaneNews& news);
  // Learns the round commit that the coordinator has told, so that no request needs to carry it
  // here. Returns false and changes nothing if `timeline` is not the one that is served.
  // INVALID_ARGUMENT: it is malformed; UNAVAILABLE: its seal is not the coordinator's, as far as
  // this shard knows the chief's key.
  absl::StatusOr<bool> HearCommit(uint64_t timeline, const v1::RoundCommit& closed);

  // ---- the chief's calls ----

  // Each adds to `replicated` what backups have to carry out before the chief is answered.
  absl::Status CommitRound(const v1::CommitRoundRequest& request, ReplicaWait& replicated);
  absl::Status CloseStreams(const v1::CloseStreamsRequest& request, ReplicaWait& replicated);
  uint64_t Flush(ReplicaWait& replicated);
  // Calls `visit` for each partition that is served here, ascending, until a call fails. Returns
  // the error of that call.
  absl::Status ForEachPartition(absl::FunctionRef<absl::Status(PartitionIndex, Partition&)> visit);

  // ---- moves ----

  // The newest view as this shard sees it; before any view, one that names nothing.
  std::shared_ptr<const OwnView> view() const;
  // REQUIRES: the index is a partition's.
  Partition& partition(PartitionIndex index) {
    return *partitions_[static_cast<size_t>(Raw(index))];
  }
  // Drops a partition that another shard has now, and, with partition 0, the coordinator.
  void Leave(PartitionIndex index);
  // Serves a partition that has come from another shard. FAILED_PRECONDITION: its timeline is not
  // the one that is served here.
  absl::Status Serve(PartitionIndex index, MovedPartition moved);
  // Expect() prepares for a partition that is coming and has passed `passed`: learns that commit,
  // and keeps later ones until the partition is served or GiveUp() is called. Errors are those of
  // Rounds::Pin.
  absl::Status Expect(Timeline timeline, const RoundCommit& passed);
  void GiveUp(Timeline timeline, const RoundCommit& passed);

  // The commit of `round`, the last one that a partition has passed: it goes along when the
  // partition leaves.
  RoundCommit Passed(uint64_t round) const { return rounds_.SetOf(round); }

  CopyTurn& copies() { return copies_; }

  // ---- replicas: shard_replicas.cc ----

  // Before `until` no other shard is promoted in this one's place, so this shard may answer pulls.
  // (Only in jobs with replicas.)
  void SetLease(absl::Time until);
  // Gives the partitions that are served here the backups that the newest view names. Call after
  // every view, before Mover::Follow thaws partitions that are frozen for a new pair.
  void FollowPairs();
  // The partition has been handed over to its backup, and this process becomes its backup. Returns
  // how long the partition was frozen; nothing, and nothing is done, if it is not frozen for
  // standby.move.
  std::optional<absl::Duration> StandDown(PartitionIndex index, const ViewedStandby& standby);
  // Does what the newest view says of the partitions that are backed up here: serves those of which
  // this process has become the owner, and drops those that the view does not name as backed up
  // here. Call after Mover::Follow has dropped the partitions that have left.
  void FollowStandbys();
  // DATA_LOSS: the newest view says that this process owns a copy of a partition, and the copy is
  // not served here.
  absl::Status CheckOwned() const;
  // Followed() notes that the view of this epoch has been followed. CheckFollowed() gives
  // UNAVAILABLE if an order goes by a later view than that one: the later view may give this shard
  // partitions that the order is meant for, too.
  void Followed(ViewEpoch epoch);
  ViewEpoch followed() const;
  absl::Status CheckFollowed(const v1::RequestHeader& header) const;
  // Takes in a partition that has come, as the backup of the pair that `standby` names. Errors are
  // those of Serve.
  absl::Status Adopt(PartitionIndex index, MovedPartition moved, const ViewedStandby& standby);
  // Carries out an operation that the owner `source` has done to a partition that is backed up
  // here. `share`: the gradient of a push, or why it cannot be read. FAILED_PRECONDITION: this
  // process is not the backup of the operation's pair; other errors: the copy is out of step with
  // its owner's, and is of no use from now on.
  absl::Status Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                      const absl::StatusOr<PushShare>& share);
  // Reads a push that an owner has carried out. Errors are those of PushMessage::Read.
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadReplicated(const grpc::ByteBuffer& push);
  ReplicaStreams& streams() { return streams_; }
  const ShardIdentity& identity() const { return identity_; }

  // ---- housekeeping ----

  // Answers the calls whose deadline has come. Call it at least every kTick.
  static constexpr absl::Duration kTick = absl::Milliseconds(50);
  void Tick();
  // Forgets the push sessions of clients that have been silent for PartitionMachine::kSessionTtl.
  // Call it every heartbeat.
  void ExpireSessions(absl::Time now);
  ShardFacts Facts() const;
  // Returns what the chief is told: these facts, the totals of the metrics, and the pairs of which
  // this shard is no use as the backup.
  v1::ShardReport Report(const ShardFacts& facts) const;

  const Catalog& catalog() const { return catalog_; }
  const Clock& clock() const { return clock_; }
  SealCheck& seals() { return seals_; }
  ClockShell& clocks() { return clocks_; }
  // The coordinator of rounds, which is at work if partition 0 is served here.
  CoordinatorShell& coordinator() { return coordinator_; }
  SlabArena& slabs() { return slabs_; }
  ShardMetrics& metrics() { return metrics_; }
  // Sets the limit of kept(): with synchronous parts, a share of the bytes that the shard holds.
  void LimitKept();
  KeptBytes& kept() { return kept_; }

  // ---- memory beside the parameters ----

  // The shard may take `bytes`: each use gets its share of them (MemoryBudget). Before this call
  // only waiting pulls and operations on their way to backups have a limit.
  void SetMemory(uint64_t bytes);
  // Leaves to gradients that wait for their turn what the memory has beside all that the shard
  // holds by its report. Call it every heartbeat.
  void LimitWaiting(const v1::ShardReport& report);
  MemoryBudget& memory() { return memory_; }
  // The account of gradients that wait for other gradients: in a stage or in a queue.
  ByteBudget& waiting_gradients() { return memory_.of(MemoryUse::kWaitingGradients); }
  // Pushes of which some pieces have come, and not all.
  PushPieces& pieces() { return pieces_; }

  // The timeline that is served; 0: none.
  uint64_t timeline() const { return timeline_.load(std::memory_order_acquire); }
  bool ready() const { return timeline() != 0; }

 private:
  Shard(Catalog catalog, const ShardIdentity& identity, ShardMetrics& metrics, const Clock& clock);

  void AddMemory(ShardFacts& facts) const;
  // FAILED_PRECONDITION: the partition has come in another timeline than the one that is served.
  absl::Status CheckTimelineOf(PartitionIndex index, const MovedPartition& moved) const;
  absl::Status CheckTarget(const v1::RequestHeader& header) const;
  // Learns the round commit that a request carries, if it is for a round. OUT_OF_RANGE: it carries
  // none, and this shard lacks the commit of the round before. The commit's own seal is checked
  // here; REQUIRES, for a push: SealCheck::CheckPush has passed.
  absl::Status LearnRoundOf(const v1::PullRequest& head);
  absl::Status LearnRoundOf(const v1::PushRequest& head);
  absl::Status CheckHeardBefore(uint64_t round) const;
  // Returns true if a gradient of the push may have to wait for other pushes.
  bool MayWait(const v1::PushRequest& head) const;
  // Returns true if it is the turn of the push's lane in its round, or the round is over.
  bool IsNext(const v1::PushRequest& head) const;
  // Notes the term and the timeline of a view or an order. Returns true if `timeline` is later than
  // any before; serving ends then.
  bool Hear(uint64_t term, uint64_t timeline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(view_mu_);
  bool IsEmpty() const;  // No partition is loaded.
  bool ServesNone() const;
  absl::Status CheckClock(const v1::RequestHeader& header) const;
  // Learns the commit `closed`, if it is new. The chief and owners of backups are believed; a
  // trainer has to show the coordinator's seal, and so has whoever answers as the coordinator.
  enum class Teller { kChief, kTrainer, kShard, kCoordinator };
  absl::Status LearnRound(uint64_t timeline, const v1::RoundCommit& closed, Teller teller);
  void SweepRounds();

  absl::StatusOr<grpc::ByteBuffer> PullNow(const PullQuery& query);

  // ---- shard_replicas.cc ----
  absl::Status CheckLease() const;
  // Returns true if what `view` says of backups is to be followed: the job has backups, and the
  // view is of the timeline that is served.
  bool BackupsGoBy(const OwnView& view) const;
  std::shared_ptr<ReplicaStream> StreamTo(const ViewedPair& pair);
  void Promote(PartitionIndex index);
  void AddBroken(v1::ShardReport& report) const;
  absl::Status ReplayCoordinator(const v1::Operation& operation);

  const Catalog catalog_;
  const ShardIdentity identity_;
  ShardMetrics& metrics_;
  const Clock& clock_;
  const bool replicated_;  // The job has replicas.
  std::atomic<uint64_t> timeline_{0};
  MemoryBudget memory_;
  PushPieces pieces_{memory_};
  ReplicaStreams streams_;
  Rounds rounds_;
  CountedLanes counted_;
  SlabArena slabs_;
  KeptBytes kept_;
  const PartitionContext context_;

  // One for each of the job's; most are empty.
  std::vector<std::unique_ptr<Partition>> partitions_;
  mutable absl::Mutex view_mu_;
  ViewEpoch epoch_ ABSL_GUARDED_BY(view_mu_);              // The newest view's epoch.
  uint64_t heard_term_ ABSL_GUARDED_BY(view_mu_) = 0;      // The highest one,
  uint64_t heard_timeline_ ABSL_GUARDED_BY(view_mu_) = 0;  // by views and orders.
  // Shared with the calls that act by it.
  std::shared_ptr<const OwnView> view_ ABSL_GUARDED_BY(view_mu_) =
      std::make_shared<const OwnView>();
  ViewEpoch followed_ ABSL_GUARDED_BY(view_mu_);
  absl::Time lease_until_ ABSL_GUARDED_BY(view_mu_) = absl::InfinitePast();
  absl::Mutex contents_mu_;  // Held while a partition comes or goes, unless by an order to load.
  CopyTurn copies_;

  SealCheck seals_;
  ClockShell clocks_;
  CoordinatorShell coordinator_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_H_
