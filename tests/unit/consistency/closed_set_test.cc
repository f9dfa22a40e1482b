#include "capstan/consistency/closed_set.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ClosedSetTest, SurvivesTheWire) {
  const ClosedSet set{7, {{LaneIndex{0}, {1, 2}, 32}, {LaneIndex{3}, {1, 9}, 16}}};
  v1::ClosedSet proto;
  ToProto(set, proto);
  EXPECT_EQ(ClosedSetFromProto(proto).value(), set);
}

TEST(ClosedSetTest, RefusesLanesThatDoNotAscend) {
  v1::ClosedSet proto;
  proto.add_lanes()->set_lane(2);
  proto.add_lanes()->set_lane(2);
  EXPECT_EQ(ClosedSetFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
