// How many batches a job without synchronous parts can have trained, by the word of its shards: a
// worker may tell of batches that it has not pushed.
#ifndef CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
#define CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_

#include <cstdint>
#include <optional>

#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Returns the most batches that can have been applied by the time of the shards' last heartbeats.
// Partitions count their updates and batches, and keep the counts when they move, or return to a
// checkpoint, so the result is as right after that as before.
//
// Where the job has tensors that change, each batch comes to every partition that has some of them,
// and the result is about the number of batches. Where it has only tables, a batch may come to any
// partitions, and the first of them counts it, as the worker says (PushRequest.counted_in); the
// result is the sum of what the owners of the partitions say in `view`. What honest workers have
// pushed is in it once; a worker that lies can have its own pushes counted by each partition that
// they come to, and those of no other worker. While a shard is of a release that does not count
// batches, the result is up to partition_count times the number.
//
// Nothing: the counts do not tell, as partitions drop stale gradients.
std::optional<uint64_t> MostBatchesApplied(const v1::JobSpec& spec, const ShardTable& shards,
                                           const v1::View& view);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
