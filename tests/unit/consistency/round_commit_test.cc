#include "capstan/consistency/round_commit.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(RoundCommitTest, SurvivesTheWire) {
  const RoundCommit set{7, {{LaneIndex{0}, {1, 2}, 32}, {LaneIndex{3}, {1, 9}, 16}}};
  v1::RoundCommit proto;
  ToProto(set, proto);
  EXPECT_EQ(RoundCommitFromProto(proto).value(), set);
}

TEST(RoundCommitTest, RefusesLanesThatDoNotAscend) {
  v1::RoundCommit proto;
  proto.add_lanes()->set_lane(2);
  proto.add_lanes()->set_lane(2);
  EXPECT_EQ(RoundCommitFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
