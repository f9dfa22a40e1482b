#include "capstan/consistency/job_lanes.h"

#include <algorithm>

#include "capstan/consistency/decisions.h"

namespace capstan {
namespace {

bool HasSync(const v1::JobSpec& spec, bool wanted) {
  return (spec.tensors_size() > 0 && IsSync(spec.dense_update()) == wanted) ||
         (spec.tables_size() > 0 && IsSync(spec.sparse_update()) == wanted);
}

}  // namespace

bool UsesLanes(const v1::JobSpec& spec) { return HasSync(spec, true); }

uint32_t LaneCount(const v1::JobSpec& spec) {
  uint32_t lanes = 1;
  const auto take = [&lanes](bool has_part, const v1::UpdatePolicy& policy) {
    if (has_part && IsSync(policy)) lanes = std::max(lanes, policy.lanes());
  };
  take(spec.tensors_size() > 0, spec.dense_update());
  take(spec.tables_size() > 0, spec.sparse_update());
  return lanes;
}

bool UsesStreams(const v1::JobSpec& spec) { return HasSync(spec, false); }

}  // namespace capstan
