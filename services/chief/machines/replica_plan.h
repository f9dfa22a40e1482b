// Plans which shard backs up each partition that has no backup, and which backups go from shards
// that hold much to shards that hold little. A pure function: the same question has the same answer
// on every machine.
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
  bool even = false;                             // Backups that exist may go to other shards.
};

// Returns the backups to be made, as moves with `replica`.
//
// Each partition without a backup gets one, the heaviest first, on a shard that is not its owner
// and, if there is such a one, not in its owner's zone. Among these the shard is chosen that holds
// the least, owned and backed up; of several, the one that backs up the least of the same owner, so
// that the partitions of an owner that is lost are spread over many shards. Left out are partitions
// that nobody can back up, and those whose owner leaves: they have to move first.
//
// Partitions that have a backup keep it, unless `even`. Then no backup stays in the zone of its
// owner if a shard in another zone can take it, and no more backups than needed go elsewhere to
// bring what each shard holds within kEven of the mean, as far as whole partitions can.
std::vector<PlannedMove> PlanReplicas(const ReplicaQuestion& question);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_REPLICA_PLAN_H_
