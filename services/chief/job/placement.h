// Where the job's partitions are, which shards have them or could take them, and what others are
// told of it.
#ifndef CAPSTAN_CHIEF_JOB_PLACEMENT_H_
#define CAPSTAN_CHIEF_JOB_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/machines/partition_moves.h"
#include "chief/machines/shard_hearing.h"
#include "chief/state/chief_options.h"
#include "chief/state/partition_loads.h"
#include "chief/state/shard_table.h"
#include "chief/state/view_builder.h"
#include "chief/state/view_gate.h"

namespace capstan::chief {

// Thread-compatible.
struct Placement {
  // `stored`: the view that the store holds; without owners in a job that begins.
  Placement(const ChiefOptions& options, const v1::JobSpec& spec, const v1::View& stored);

  uint64_t timeline() const { return views.current().timeline(); }
  // The shards that hold partitions. Each of them is or was known.
  std::vector<uint32_t> Owners() const { return {views.owners().begin(), views.owners().end()}; }

  // The shard can take partitions, now and later.
  bool MayTake(uint32_t shard, absl::Time now) const;
  // The shards that are to leave and have partitions.
  std::set<uint32_t> LeavingShards() const;
  // Those of them whose partitions nobody can take: they are saved.
  std::set<uint32_t> ShardsToSave(absl::Time now) const;
  // The partitions that the shard owns, in order.
  std::vector<uint32_t> PartitionsOf(uint32_t shard) const;
  // The process is there, and has not loaded what the shard owns.
  bool Lacks(const Shard& shard) const;
  // The view that others know names this process, so that they can call it.
  bool IsPublished(const Shard& shard) const;
  // By partition: the shard that backs it up.
  std::vector<std::optional<uint32_t>> Backups() const;
  // How many partitions have no backup.
  size_t Unpaired() const;
  // A view that others know, or will, names moves.
  bool MovesLinger() const { return moves.under_way() || !gate.published().moves().empty(); }

  ShardTable shards;
  ShardHearing hearing;
  PartitionLoads loads;
  PartitionMoves moves;
  ViewBuilder views;
  ViewGate gate;
  // Something was heard of shards since members and balance were looked at: workers' heartbeats,
  // which are many, say nothing of either.
  bool heard_of_shards = true;
  // The next map is made over these shards, if it is another one; empty: over those wished. While
  // the job is PENDING they are those of the map before. See JobContext::ShardsOfNextMap.
  std::set<uint32_t> next_map;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_PLACEMENT_H_
