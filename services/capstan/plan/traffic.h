// Computes what one batch transfers between a worker and the shards, from the same plan of calls as
// in a worker (client/request_plan). Pure functions.
#ifndef CAPSTAN_PLAN_TRAFFIC_H_
#define CAPSTAN_PLAN_TRAFFIC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What one batch transfers to and from one shard, or all of them together.
struct Share {
  uint64_t floats = 0;  // Dense floats, without those of frozen tensors.
  uint64_t rows = 0;
  uint64_t calls = 0;         // The number of calls to pull it; pushing it takes as many.
  uint64_t pulled_bytes = 0;  // Requested keys, and values in their form on the wire.
  uint64_t pushed_bytes = 0;
  uint64_t largest_push_bytes = 0;  // The bytes of the largest call.
};

struct Traffic {
  Share worker;   // To and from all shards.
  Share busiest;  // To and from the shard that has the most.
};

// Returns the traffic of a batch with `keys` different keys, with the partitions placed on `shards`
// shards by the first shard map. INVALID_ARGUMENT: the tensors cannot be laid out. REQUIRES: `job`
// has its tables and tensors.
absl::StatusOr<Traffic> TrafficOf(const v1::JobSpec& job, uint64_t keys, int shards);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_TRAFFIC_H_
