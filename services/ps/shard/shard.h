// A shard: its partitions, the rounds and clocks that they share, and the coordinator if the shard
// owns partition 0. Implements the RPCs of a shard, independent of the transport. This class is the
// data path, and gives access to the duties.
#ifndef CAPSTAN_PS_SHARD_SHARD_H_
#define CAPSTAN_PS_SHARD_SHARD_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/partition/catalog.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/push_message.h"
#include "ps/partition/replica_wait.h"
#include "ps/partition/shard_facts.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/backups.h"
#include "ps/shard/round_follower.h"
#include "ps/shard/shard_accounts.h"
#include "ps/shard/shard_contents.h"
#include "ps/shard/shard_identity.h"
#include "ps/shard/shard_parts.h"

namespace capstan::ps {

// *Thread-safe*.
class Shard {
 public:
  // `waited`: how long the pull has waited for slower trainers (ssp).
  using OnPulled =
      absl::AnyInvocable<void(absl::StatusOr<grpc::ByteBuffer>, absl::Duration waited)>;

  // `metrics` and `clock` must outlive the shard. INVALID_ARGUMENT: the job is wrong.
  static absl::StatusOr<std::unique_ptr<Shard>> Create(const v1::JobSpec& job,
                                                       const ShardIdentity& identity,
                                                       ShardMetrics& metrics, const Clock& clock);

  // Applies those settings of `job`, sent by the present chief, that may change during a job.
  // ABORTED: the job has been started over as one that this shard cannot serve.
  absl::Status LearnJob(const v1::JobSpec& job);

  // Takes in `view`, unless it is not newer than the last one. A view of a later timeline ends
  // serving. The errors are those of ShardView::Take.
  absl::Status SetView(const v1::View& view);

  // ---- the data path ----

  // Calls `done` now or, under ssp, on another thread when slower trainers have caught up; with
  // DEADLINE_EXCEEDED after `deadline`. All deadlines here are times of the shard's clock.
  // OUT_OF_RANGE as for Push(). If the pull is parked, returns the id to pass to clocks().Forget().
  std::optional<WaiterId> Pull(std::unique_ptr<const PullQuery> query, absl::Time deadline,
                               OnPulled done);

  // Reads and checks a whole push, before any of it is carried out. INVALID_ARGUMENT, NOT_FOUND,
  // FAILED_PRECONDITION: see PushMessage::Read. RESOURCE_EXHAUSTED: waiting gradients take all the
  // memory that they may. The push of the lane whose turn it is, for which the lanes above it wait,
  // is accepted even then (docs/spec, rule 21).
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(const grpc::ByteBuffer& buffer);

  // Carries out a push. INVALID_ARGUMENT: no such lane. UNAVAILABLE: the seals do not prove that
  // the chief has granted this generation of the lane or stream (as far as this shard knows the
  // chief's key), or that the coordinator has closed the round with these lanes; or the push has a
  // clock and goes by a view that this shard does not have yet. OUT_OF_RANGE, and nothing is done:
  // the push is for a round, has no commit of the round before, and this shard does not have that
  // either.
  struct Pushed {
    v1::PushReply reply;
    ReleasedPulls released;  // To be destroyed after the reply has been sent.
    ReplicaWait replicated;  // To be waited for before the reply is sent.
  };
  absl::StatusOr<Pushed> Push(const std::shared_ptr<const PushMessage>& push);

  // ---- the chief's calls ----

  // Each adds to `replicated` what backups have to carry out before the chief may be answered.
  absl::Status CommitRound(const v1::CommitRoundRequest& request, ReplicaWait& replicated);
  absl::Status CloseStreams(const v1::CloseStreamsRequest& request, ReplicaWait& replicated);
  uint64_t Flush(ReplicaWait& replicated);

  // ---- housekeeping ----

  // Answers the calls whose deadline has passed, and applies updates that were deferred for long.
  // Must be called at least every kTick.
  static constexpr absl::Duration kTick = absl::Milliseconds(50);
  void Tick();
  // Forgets the push sessions of clients that were silent for PartitionMachine::kSessionTtl. Must
  // be called every heartbeat.
  void ExpireSessions(absl::Time now);
  // Returns the report to the chief: these facts, the totals of the metrics, and the pairs for
  // which this shard has become unusable as the backup.
  v1::ShardReport Report(const ShardFacts& facts) const;

  // ---- duties ----

  ShardView& view() { return parts_.view; }
  ShardContents& contents() { return contents_; }
  RoundFollower& rounds() { return rounds_; }
  Backups& backups() { return backups_; }
  ShardAccounts& accounts() { return accounts_; }

  // ---- parts ----

  const Catalog& catalog() const { return parts_.catalog; }
  const ShardIdentity& identity() const { return parts_.identity; }
  ShardMetrics& metrics() { return parts_.metrics; }
  const Clock& clock() const { return parts_.clock; }
  PartitionSet& partitions() { return parts_.partitions; }
  SealCheck& seals() { return parts_.seals; }
  ClockShell& clocks() { return parts_.clocks; }
  CoordinatorShell& coordinator() { return parts_.coordinator; }
  ReplicaStreams& streams() { return parts_.streams; }
  CopyTurn& copies() { return parts_.copies; }
  MemoryBudget& memory() { return parts_.memory; }
  // The account of gradients that wait for other gradients: staged or queued.
  ByteBudget& waiting_gradients() { return parts_.memory.of(MemoryUse::kWaitingGradients); }
  PushPieces& pieces() { return parts_.pieces; }
  PushPieces& replica_pieces() { return parts_.replica_pieces; }
  SlabArena& slabs() { return parts_.slabs; }
  KeptBytes& kept() { return parts_.kept; }

  // The timeline that is served; 0: none.
  uint64_t timeline() const { return parts_.view.timeline(); }
  bool ready() const { return timeline() != 0; }

 private:
  Shard(Catalog catalog, const ShardIdentity& identity, ShardMetrics& metrics, const Clock& clock);

  absl::Status CheckClock(const v1::RequestHeader& header) const;
  absl::StatusOr<grpc::ByteBuffer> PullNow(const PullQuery& query);

  ShardParts parts_;
  RoundFollower rounds_{parts_};
  ShardContents contents_{parts_};
  Backups backups_{parts_, rounds_, contents_};
  ShardAccounts accounts_{parts_};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_H_
