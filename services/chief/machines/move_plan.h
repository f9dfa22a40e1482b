// Plans which partitions move from which shard to which. Pure functions, with the same result on
// every machine.
#ifndef CAPSTAN_CHIEF_MACHINES_MOVE_PLAN_H_
#define CAPSTAN_CHIEF_MACHINES_MOVE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "chief/state/partition_loads.h"

namespace capstan::chief {

struct PlannedMove {
  uint32_t partition = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  bool replica = false;  // The owner stays; `to` becomes the backup.
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

struct MoveQuestion {
  std::vector<uint32_t> owners;          // Partition -> shard.
  std::vector<PartitionWeight> weights;  // By partition; all zero: each weighs the same.
  std::set<uint32_t> takers;             // Shards that stay; owners not among them leave.
  bool even = true;                      // True: also balance the shards that stay.
  // Partition -> shard that backs it up, if any; empty: none has a backup.
  std::vector<std::optional<uint32_t>> backups = {};
};

// A shard counts as balanced if it differs from the mean by at most this fraction of the mean.
inline constexpr double kEven = 0.1;

// Returns the moves in the order in which they should be made; none if there are no takers. No
// partition moves twice. First come the partitions of shards that leave, the heaviest first, each
// to its backup if that stays, otherwise to the shard that has the least. If `even` is true, these
// are followed by moves that bring the bytes and load of every shard within kEven of the mean, as
// far as whole partitions allow it, and no more moves than needed.
std::vector<PlannedMove> PlanMoves(const MoveQuestion& question);

// Adapts `moves` to a job whose partitions should have a backup all the time. A partition that
// moves from a shard that stays to one that is not its backup is first backed up there and then
// handed over, so that its old owner becomes the backup (docs/spec, rule 39). `at_a_time`
// partitions are backed up, then handed over, then the next ones.
std::vector<PlannedMove> BackedUpFirst(const std::vector<PlannedMove>& moves,
                                       const MoveQuestion& question, size_t at_a_time);

// The most that any shard has, divided by the mean of the shards. 1 if all have the same, or
// nothing is known.
struct Skew {
  double bytes = 1;
  double load = 1;
};
Skew SkewOf(const MoveQuestion& question);
// Returns `question` with the owners as they will be after `moves`.
MoveQuestion After(MoveQuestion question, const std::vector<PlannedMove>& moves);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_MOVE_PLAN_H_
