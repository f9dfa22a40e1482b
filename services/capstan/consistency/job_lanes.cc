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
  for (const auto* policy : {&spec.dense_update(), &spec.sparse_update()}) {
    if (IsSync(*policy)) lanes = std::max(lanes, policy->lanes());
  }
  return lanes;
}

bool UsesStreams(const v1::JobSpec& spec) { return HasSync(spec, false); }

}  // namespace capstan
