#include "ps/shard/coordinator_start.h"

#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"

namespace capstan::ps {

void ToProto(const CoordinatorState& state, v1::CoordinatorStart& proto) {
  capstan::ToProto(state.last, *proto.mutable_last());
  for (const CoordinatorState::Lane& lane : state.lanes) {
    v1::LaneCursor& cursor = *proto.add_lanes();
    cursor.set_cursor(lane.cursor);
    cursor.set_ended(lane.ended);
    capstan::ToProto(lane.fence, *cursor.mutable_fence());
    cursor.set_counted_round(lane.counted_round);
    capstan::ToProto(lane.counted_generation, *cursor.mutable_counted_generation());
  }
}

absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorStart& proto) {
  CoordinatorState state;
  CAPSTAN_ASSIGN_OR_RETURN(state.last, RoundCommitFromProto(proto.last()));
  for (const v1::LaneCursor& lane : proto.lanes()) {
    state.lanes.push_back({lane.cursor(), lane.ended(), GenerationFromProto(lane.fence()),
                           lane.counted_round(), GenerationFromProto(lane.counted_generation())});
  }
  return state;
}

}  // namespace capstan::ps
