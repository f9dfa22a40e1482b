#include "capstan/plan/traffic.h"

#include <algorithm>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/client/parameter_map.h"
#include "capstan/client/request_plan.h"
#include "capstan/client/share_limit.h"
#include "capstan/placement/placement.h"
#include "capstan/wire/floats.h"

namespace capstan {
namespace {

Share ShareOf(const v1::JobSpec& job, const RequestPlan& plan, const RequestPlan::Chunk& call) {
  Share share;
  share.calls = 1;
  uint64_t row_floats = 0;
  for (const uint32_t partition : call.partitions) {
    for (const BlockId block : plan.BlocksOf(call, partition)) {
      share.floats += plan.map().layout().block(block).length;
    }
    for (const RequestPlan::Segment& segment : plan.SegmentsOf(partition)) {
      const uint64_t rows = segment.end - segment.begin;
      share.rows += rows;
      row_floats += rows * plan.map().tables()[segment.table].dim;
    }
  }
  const uint64_t keys = share.rows * sizeof(uint64_t);
  share.pulled_bytes =
      keys + (share.floats + row_floats) * wire::FloatSize(job.train().wire_dtype());
  share.pushed_bytes = keys + share.floats * PushedValueBytes(job, job.dense_update()) +
                       row_floats * PushedValueBytes(job, job.sparse_update());
  share.largest_push_bytes = share.pushed_bytes;
  return share;
}

void Add(const Share& one, Share& sum) {
  sum.floats += one.floats;
  sum.rows += one.rows;
  sum.calls += one.calls;
  sum.pulled_bytes += one.pulled_bytes;
  sum.pushed_bytes += one.pushed_bytes;
  sum.largest_push_bytes = std::max(sum.largest_push_bytes, one.largest_push_bytes);
}

}  // namespace

absl::StatusOr<Traffic> TrafficOf(const v1::JobSpec& job, uint64_t keys, int shards) {
  CAPSTAN_ASSIGN_OR_RETURN(const ParameterMap map, ParameterMap::Create(job));
  std::vector<uint64_t> drawn;
  for (uint64_t i = 0; i < keys; ++i) drawn.push_back(Mix64(i));
  std::vector<TableKeys> tables;
  const auto widest =
      std::max_element(map.tables().begin(), map.tables().end(),
                       [](const auto& one, const auto& other) { return one.dim < other.dim; });
  // It is not known to which tables the keys belong, so all count for the widest.
  if (widest != map.tables().end()) {
    tables.push_back({.table = static_cast<size_t>(widest - map.tables().begin()), .keys = drawn});
  }
  RequestPlan plan(map);
  plan.Build(tables, /*dense=*/true);
  plan.Route(FirstShardMap(map.partition_count(), static_cast<uint32_t>(shards)));
  Traffic traffic;
  for (const ShardIndex shard : plan.shards()) {
    Share share;
    for (const RequestPlan::Chunk& call : plan.ChunksOf(shard)) {
      Add(ShareOf(job, plan, call), share);
    }
    Add(share, traffic.worker);
    if (share.pulled_bytes > traffic.busiest.pulled_bytes) traffic.busiest = share;
  }
  return traffic;
}

}  // namespace capstan
