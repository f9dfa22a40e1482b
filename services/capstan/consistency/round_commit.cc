#include "capstan/consistency/round_commit.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"

namespace capstan {

absl::StatusOr<RoundCommit> RoundCommitFromProto(const v1::RoundCommit& proto) {
  RoundCommit set{.round = proto.round(), .lanes = {}, .seal = proto.seal()};
  set.lanes.reserve(proto.lanes_size());
  int64_t previous = -1;
  for (const v1::ClosedLane& lane : proto.lanes()) {
    if (lane.lane() <= previous || lane.lane() > INT32_MAX) {
      return absl::InvalidArgumentError(absl::StrCat("round commit of round ", proto.round(),
                                                     ": lane ", lane.lane(), " comes after lane ",
                                                     previous));
    }
    previous = lane.lane();
    set.lanes.push_back({static_cast<LaneIndex>(lane.lane()),
                         GenerationFromProto(lane.generation()), lane.examples()});
  }
  return set;
}

void ToProto(const RoundCommit& set, v1::RoundCommit& proto) {
  proto.set_round(set.round);
  proto.set_seal(set.seal);
  proto.clear_lanes();
  for (const ClosedLane& lane : set.lanes) ToProto(lane, *proto.add_lanes());
}

void ToProto(const ClosedLane& lane, v1::ClosedLane& proto) {
  proto.set_lane(static_cast<uint32_t>(Raw(lane.lane)));
  ToProto(lane.generation, *proto.mutable_generation());
  proto.set_examples(lane.examples);
}

}  // namespace capstan
