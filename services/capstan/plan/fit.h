// Tells whether shards can hold a job at all, by the memory that is surely needed. Pure functions.
#ifndef CAPSTAN_PLAN_FIT_H_
#define CAPSTAN_PLAN_FIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Only `limit` bytes of a shard's memory may hold gradients that wait for others. Returns in words,
// with the sum, that a round or an aggregate of the job may need more than that; empty: it needs no
// more. `busiest` is the shard's share of a batch, or a part of it.
std::string WaitingAbove(const v1::JobSpec& job, const Share& busiest, uint64_t limit);

// A gradient for which there is no room is refused and sent again. Returns in words, with the sum
// and what to do, that this may go on for ever: an aggregate is never full, or, with backup
// workers, shards hold the gradients of different lanes, and too few lanes are on all shards.
// Empty: there is room, or the lane whose turn it is is always let in. With replicas a shard holds
// as many gradients again, which wait at the owners that it backs up.
std::string NeverComplete(const v1::JobSpec& job, const Share& busiest, int shards,
                          uint64_t shard_memory);

// Returns how many files and connections a shard has open, about, with `workers` workers and
// `shards` shards: under ssp a worker may have several connections to it, and each other shard and
// the chief have one, as it has to them.
int64_t OpenFilesOfAShard(const v1::JobSpec& job, int64_t workers, int64_t shards);

// Checks that each of `shards` shards can hold its part in `shard_memory` bytes (0: not known, and
// nothing is checked). FAILED_PRECONDITION, with the arithmetic and what to do: it cannot hold its
// dense parameters, or the gradients of a round or an aggregate, or all that it holds at the same
// time. A batch has `keys` different keys (0: no table, or not known). Their gradients count, and
// in the sum of a round one row for each key. The rows of the tables do not count, as it is not
// known how many there will be.
absl::Status CheckShardsFit(const v1::JobSpec& job, uint64_t keys, int shards,
                            uint64_t shard_memory);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_FIT_H_
