// Where the job's partitions are, which shards have them or could take them, and the views that
// tell others of it.
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
  // `stored` is the view in the object store; it has no owners if the job is new.
  Placement(const ChiefOptions& options, const v1::JobSpec& spec, const v1::View& stored);

  uint64_t timeline() const { return views.current().timeline(); }
  // Returns the shards that own partitions.
  std::vector<uint32_t> Owners() const { return {views.owners().begin(), views.owners().end()}; }

  // Returns true if the shard can take partitions: it is present, not silent, and not about to
  // leave.
  bool MayTake(uint32_t shard, absl::Time now) const;
  // Returns the shards that are to leave and own partitions.
  std::set<uint32_t> LeavingShards() const;
  // Returns the leaving shards whose partitions have to be saved, because no shard can take them or
  // because moving them has failed several times.
  std::set<uint32_t> ShardsToSave(absl::Time now) const;
  // Returns the partitions that the shard owns, in order.
  std::vector<uint32_t> PartitionsOf(uint32_t shard) const;
  // Returns true if the shard's process is present, and has not loaded the partitions that the
  // shard owns.
  bool Lacks(const Shard& shard) const;
  // The shard's process has just answered that it has loaded the present timeline.
  void OnLoaded(Shard& shard, absl::Time now);
  // Returns true if the published view names this process of the shard, so that others can call it.
  bool IsPublished(const Shard& shard) const;
  // Returns the backup of each partition, or nullopt.
  std::vector<std::optional<uint32_t>> Backups() const;
  // Returns how many partitions have no backup.
  size_t Unpaired() const;
  // Returns true if moves are under way, or the published view still names some.
  bool MovesLinger() const { return moves.under_way() || !gate.published().moves().empty(); }

  ShardTable shards;
  ShardHearing hearing;
  PartitionLoads loads;
  PartitionMoves moves;
  ViewBuilder views;
  ViewGate gate;
  // True if shards were heard of, or time has passed, since members and balance were last examined.
  // The heartbeats of workers, which are many, do not set it.
  bool heard_of_shards = true;
  // The shards of the next map if one is to be made: while the job is PENDING those of the previous
  // map. Empty: the shards 0 to options.shards - 1. See JobContext::ShardsOfNextMap.
  std::set<uint32_t> next_map;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_PLACEMENT_H_
