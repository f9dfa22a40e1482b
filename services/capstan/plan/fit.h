// Whether shards can hold a job at all, by what is surely needed. Pure functions.
#ifndef CAPSTAN_PLAN_FIT_H_
#define CAPSTAN_PLAN_FIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What of a shard's memory gradients that wait for others may take, and that a round or an
// aggregate of the job may need more: the sum in words; empty: they need no more. `busiest`: the
// shard's share of a batch, or a part of it.
std::string WaitingAbove(const v1::JobSpec& job, const Share& busiest, uint64_t shard_memory);

// What is above it is refused and comes again. Returns in words, with the sum and what to do, that
// it comes in vain: an aggregate is never full; with backup workers one shard has the gradients of
// some lanes and another one those of others, and too few are on all of them. Empty: there is room,
// or the lane whose turn it is always gets in.
std::string NeverComplete(const v1::JobSpec& job, const Share& busiest, uint64_t shard_memory);

// FAILED_PRECONDITION, with the arithmetic and what to do: a shard of so many that has so much
// memory (0: not known) cannot hold its dense parameters, or the gradients of a round or an
// aggregate, or not all that it holds at the same time. A batch has `keys` different keys (0: no
// table, or not known); their gradients count, and in the sum of a round one row each. The rows of
// the tables do not, for how many there will be is not known.
absl::Status CheckShardsFit(const v1::JobSpec& job, uint64_t keys, int shards,
                            uint64_t shard_memory);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_FIT_H_
