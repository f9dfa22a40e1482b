// How many batches a job without synchronous parts can have trained, by the word of its shards: a
// worker may tell of batches that it has not pushed.
#ifndef CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
#define CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_

#include <cstdint>
#include <optional>

#include "capstan/v1/job.pb.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Returns the most batches that can have been applied by the time of the shards' last heartbeats.
// Partitions count their updates, and keep the count when they move, or return to a checkpoint, so
// the result is as right after that as before. Where the job has tensors that change, each batch
// comes to every partition that has some of them, and the result is about the number of batches.
// Where it has only tables, a batch may have come to any one partition alone, and the result is up
// to partition_count times the number. Nothing: the counts do not tell, as partitions drop stale
// gradients.
std::optional<uint64_t> MostBatchesApplied(const v1::JobSpec& spec, const ShardTable& shards);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_APPLIED_BATCHES_H_
