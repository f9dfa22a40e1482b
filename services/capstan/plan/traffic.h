// What one batch moves between a worker and the shards. Pure functions, by the very plan of calls
// that a worker makes (client/request_plan).
#ifndef CAPSTAN_PLAN_TRAFFIC_H_
#define CAPSTAN_PLAN_TRAFFIC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// One batch's share of a shard, or of all of them together.
struct Share {
  uint64_t floats = 0;  // Dense ones, but for those of frozen tensors.
  uint64_t rows = 0;
  uint64_t calls = 0;         // That pull it; as many push it.
  uint64_t pulled_bytes = 0;  // Keys that are asked for, and values as they travel.
  uint64_t pushed_bytes = 0;
  uint64_t largest_push_bytes = 0;  // The bytes of the largest call.
};

struct Traffic {
  Share worker;   // To and from all shards.
  Share busiest;  // To and from the shard that has most of it.
};

// `job` has its tables and tensors. `keys` different keys are in the batch. The partitions are on
// `shards` shards as the first map has them. INVALID_ARGUMENT: the tensors cannot be laid out.
absl::StatusOr<Traffic> TrafficOf(const v1::JobSpec& job, uint64_t keys, int shards);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_TRAFFIC_H_
