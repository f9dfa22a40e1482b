#include "ps/shard/coordinator_start.h"

#include <algorithm>

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

void ToProto(const OpenRound& open, v1::OpenRoundState& proto) {
  for (const ClosedLane& lane : open.counted) capstan::ToProto(lane, *proto.add_counted());
  for (const LaneIndex lane : open.ended) proto.add_ended(static_cast<uint32_t>(Raw(lane)));
  proto.set_opened(open.opened);
  proto.set_held(open.held);
  proto.set_stalled(open.stalled);
  proto.set_order_term(open.order.first);
  proto.set_order_number(open.order.second);
}

absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorOperation& proto) {
  CAPSTAN_ASSIGN_OR_RETURN(CoordinatorState state, CoordinatorStateFromProto(proto.state()));
  OpenRound& open = state.open.emplace();
  for (const v1::ClosedLane& lane : proto.open().counted()) {
    open.counted.push_back({static_cast<LaneIndex>(lane.lane()),
                            GenerationFromProto(lane.generation()), lane.examples()});
  }
  for (const uint32_t lane : proto.open().ended()) {
    open.ended.push_back(static_cast<LaneIndex>(lane));
  }
  const auto known = [&state](LaneIndex lane) {
    return static_cast<size_t>(Raw(lane)) < state.lanes.size();
  };
  const bool all_known = std::all_of(open.ended.begin(), open.ended.end(), known) &&
                         std::all_of(open.counted.begin(), open.counted.end(),
                                     [&known](const ClosedLane& lane) { return known(lane.lane); });
  if (!all_known) return absl::InvalidArgumentError("an open round of lanes that there are not");
  open.opened = proto.open().opened();
  open.held = proto.open().held();
  open.stalled = proto.open().stalled();
  open.order = {proto.open().order_term(), proto.open().order_number()};
  return state;
}

}  // namespace capstan::ps
