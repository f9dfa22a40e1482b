// The parts of a shard. Each class that does one of a shard's duties (ShardContents, RoundFollower,
// Backups, ShardAccounts, Shard itself) gets the parts, and sees in them what the others have done.
// Backups also calls ShardContents to drop partitions, and RoundFollower to take in commits.
#ifndef CAPSTAN_PS_SHARD_SHARD_PARTS_H_
#define CAPSTAN_PS_SHARD_SHARD_PARTS_H_

#include <atomic>
#include <cstddef>
#include <utility>

#include "capstan/base/clock.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/rpc/limits.h"
#include "capstan/store/slab_arena.h"
#include "ps/partition/catalog.h"
#include "ps/partition/counted_lanes.h"
#include "ps/partition/kept_bytes.h"
#include "ps/partition/memory_budget.h"
#include "ps/partition/partition_set.h"
#include "ps/partition/rounds.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/clock_shell.h"
#include "ps/shard/coordinator_shell.h"
#include "ps/shard/copy_turn.h"
#include "ps/shard/push_pieces.h"
#include "ps/shard/replica_streams.h"
#include "ps/shard/seal_check.h"
#include "ps/shard/shard_identity.h"
#include "ps/shard/shard_view.h"

namespace capstan::ps {

// Each part is *thread-safe*.
struct ShardParts {
  // `metrics` and `clock` must outlive the parts.
  ShardParts(Catalog job_catalog, const ShardIdentity& self, ShardMetrics& shard_metrics,
             const Clock& shard_clock)
      : catalog(std::move(job_catalog)),
        identity(self),
        metrics(shard_metrics),
        clock(shard_clock),
        replicated(catalog.job().replicas() > 0),
        view(identity, catalog.job().partition_count(), replicated, clock),
        pieces(memory, kMaxPushBytes, PushPieces::Nameless::kProgram),
        replica_pieces(memory, kMaxReplicateBytes, PushPieces::Nameless::kOwner),
        rounds([this](const RoundCommit& closed) { streams.TellClosed(closed); }),
        partitions(catalog.job().partition_count(),
                   PartitionContext{catalog, rounds, counted, metrics, slabs, kept, put_off}),
        seals(catalog.lanes()),
        clocks(catalog, replicated ? &streams : nullptr),
        coordinator(catalog, identity, seals, clock) {}

  const Catalog catalog;
  const ShardIdentity identity;
  ShardMetrics& metrics;
  const Clock& clock;
  const bool replicated;  // The job has replicas.
  ShardView view;
  MemoryBudget memory;
  PushPieces pieces;  // Incomplete pushes that arrive in pieces.
  // The same for operations that owners send to backups. They are apart, so that one of these
  // always fits, no matter how much clients push.
  PushPieces replica_pieces;
  ReplicaStreams streams;  // To the processes that back up partitions that are served here.
  Rounds rounds;
  CountedLanes counted;
  SlabArena slabs;
  KeptBytes kept;
  std::atomic<size_t> put_off{
      0};  // Bytes of gradients that the backups on this shard have deferred.
  CopyTurn copies;
  PartitionSet partitions;
  SealCheck seals;
  ClockShell clocks;
  CoordinatorShell coordinator;  // Active if partition 0 is served here.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_PARTS_H_
