// Which partitions should go from which shard to which. Pure functions: the same question has the
// same answer on every machine.
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
  std::set<uint32_t> takers;             // Shards that stay. Whoever owns and is not here leaves.
  bool even = true;                      // Those that stay are made even; else they only take.
  // Partition -> shard that backs it up, if any; empty: none has a backup.
  std::vector<std::optional<uint32_t>> backups = {};
};

// Above and below the mean by so much is even.
inline constexpr double kEven = 0.1;

// No partition twice; none if there are no takers. First what those hold that leave, the heaviest
// first, each to its backup if that stays, else to the shard that has the least; then as few as
// bring every shard's bytes and load within kEven of the mean, as far as whole partitions can.
std::vector<PlannedMove> PlanMoves(const MoveQuestion& question);

// The same for a job whose partitions are to have a backup all the time: what a shard that stays
// gives to one that does not back it up is backed up there first, and is then handed over, by which
// the shard becomes its backup (docs/spec, rule 39). So many at a time are backed up and handed
// over.
std::vector<PlannedMove> BackedUpFirst(const std::vector<PlannedMove>& moves,
                                       const MoveQuestion& question, size_t at_a_time);

// The heaviest of the shards against their mean; 1: all are the same, or nothing is known.
struct Skew {
  double bytes = 1;
  double load = 1;
};
Skew SkewOf(const MoveQuestion& question);
// As it will be when these are carried out.
MoveQuestion After(MoveQuestion question, const std::vector<PlannedMove>& moves);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_MOVE_PLAN_H_
