// Which shard is to back up each partition that has no backup, and which backups should go from
// shards that hold much to those that hold little. A pure function: the same question has the same
// answer on every machine.
#ifndef CAPSTAN_CHIEF_MACHINES_REPLICA_PLAN_H_
#define CAPSTAN_CHIEF_MACHINES_REPLICA_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chief/machines/move_plan.h"
#include "chief/state/partition_loads.h"

namespace capstan::chief {

struct ReplicaQuestion {
  std::vector<uint32_t> owners;                  // Partition -> shard.
  std::vector<std::optional<uint32_t>> backups;  // Partition -> shard that backs it up, if any.
  std::vector<PartitionWeight> weights;          // By partition; all zero: each weighs the same.
  std::set<uint32_t> takers;                     // Shards that stay.
  std::map<uint32_t, std::string> zones;         // The zones of shards, as far as they are known.
  bool even = false;                             // Backups may go to other shards.
};

// The heaviest first, each to a shard that is not its owner and, where there is one, not in its
// owner's zone: to the one that has the least, owned and backed up; of several that have the least,
// to the one that backs up the least of the same owner, so that what it owned is spread if it is
// lost. No partition that nobody can back up, and none whose owner leaves: it is to move first.
// What has a backup keeps it; where shards are to be made even, as few get another as bring what
// each holds within kEven of the mean, as far as whole partitions can; and no backup stays in its
// owner's zone for whom there is a place in another.
std::vector<PlannedMove> PlanReplicas(const ReplicaQuestion& question);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_REPLICA_PLAN_H_
