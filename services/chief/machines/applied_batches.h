// The most batches that a job without synchronous parts can have trained, as counted by its shards.
// Workers' reports are not used: a worker may report batches that it has not pushed.
#ifndef CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
#define CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_

#include <cstdint>
#include <optional>

#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Returns an upper bound of the batches that were applied by the time of the shards' last
// heartbeats. Partitions count their updates and batches, and the counts are kept in moves and in
// checkpoints, so the result is still right after these.
//
// If the job has trained dense tensors, each batch updates every partition that has some of them,
// and the result is close to the number of batches. If it has only tables, a batch may update any
// subset of the partitions, and is counted by the first of these, which the worker names
// (PushRequest.counted_in); the result is the sum over the owners of the partitions in `view`. It
// contains each batch of an honest worker once. A worker that lies can have its own pushes counted
// by every partition that they update, but cannot affect those of other workers. As long as a shard
// runs a version that does not count batches, the result is up to partition_count times too large.
//
// Returns nullopt if the counts are no bound, because partitions drop stale gradients.
std::optional<uint64_t> MostBatchesApplied(const v1::JobSpec& spec, const ShardTable& shards,
                                           const v1::View& view);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
