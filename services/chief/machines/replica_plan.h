// Plans which shard backs up each partition that has no backup, and which backups move from shards
// that hold much to shards that hold little. A pure function, with the same result on every
// machine.
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
  bool even = false;                             // Existing backups may move to other shards.
};

// Returns the backups to be made, as moves with `replica`.
//
// Each partition without a backup gets one, the heaviest first, on a shard that is not its owner
// and, if possible, not in its owner's zone. Among these, the shard is chosen that holds the least,
// counting owned and backed up partitions. On a tie, it is the one that backs up the least of the
// same owner, so that after the loss of an owner its partitions are spread over many shards.
// Omitted are partitions that no shard can back up, and those whose owner leaves: these have to
// move first.
//
// Partitions that have a backup keep it, unless `even` is true. Then no backup stays in the zone of
// its owner if a shard in another zone can take it, and as few other backups as possible move to
// bring what each shard holds within kEven of the mean, as far as whole partitions allow it.
std::vector<PlannedMove> PlanReplicas(const ReplicaQuestion& question);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_REPLICA_PLAN_H_
