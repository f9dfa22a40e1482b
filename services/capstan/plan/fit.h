// Determines whether shards can hold a job, by the memory that is certainly needed. Pure functions.
#ifndef CAPSTAN_PLAN_FIT_H_
#define CAPSTAN_PLAN_FIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Only `limit` bytes of a shard's memory may hold gradients that wait for others. If a round or an
// aggregate of the job may need more than that, returns a sentence with the sum; otherwise an empty
// text. `busiest` is the shard's share of a batch, or a part of it.
std::string WaitingAbove(const v1::JobSpec& job, const Share& busiest, uint64_t limit);

// A gradient for which there is no memory is refused and sent again. If this may go on forever,
// returns a sentence with the sum and a remedy: an aggregate is never full or, with backup workers,
// shards hold the gradients of different lanes, and too few lanes are on all shards. Returns an
// empty text if there is enough memory, or if the lane whose turn it is is always accepted. With
// replicas a shard holds twice as many gradients, including those that wait at the owners that it
// backs up.
std::string NeverComplete(const v1::JobSpec& job, const Share& busiest, int shards,
                          uint64_t shard_memory);

// Returns approximately how many files and connections a shard has open with `workers` workers and
// `shards` shards: under ssp a worker may have several connections to it, and it has one from and
// one to each other shard and the chief.
int64_t OpenFilesOfAShard(const v1::JobSpec& job, int64_t workers, int64_t shards);

// Checks that each of `shards` shards can hold its part in `shard_memory` bytes (0: not known, and
// nothing is checked). FAILED_PRECONDITION, with the calculation and a remedy: it cannot hold its
// dense parameters, or the gradients of a round or an aggregate, or all that it holds at the same
// time. A batch has `keys` different keys (0: no table, or not known). Their gradients count, and
// in the sum of a round one row for each key. The rows of the tables do not count, because their
// number is not known.
absl::Status CheckShardsFit(const v1::JobSpec& job, uint64_t keys, int shards,
                            uint64_t shard_memory);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_FIT_H_
