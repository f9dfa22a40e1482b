#include "worker/machines/lane_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using Order = LaneTurns::Order;

constexpr uint64_t kLargeModel = 100 << 20;

class LaneTurnsTest : public testing::Test {
 protected:
  void Join(LaneTurns& turns, const std::vector<size_t>& lanes) {
    for (size_t lane : lanes) turns.Join(&lanes_[lane], static_cast<LaneIndex>(lane));
  }
  void Ask(LaneTurns& turns, const std::vector<size_t>& lanes, uint64_t round = 1) {
    for (size_t lane : lanes) {
      turns.Ask(&lanes_[lane], round, [this, lane] { begun_.push_back(lane); });
    }
  }
  void End(LaneTurns& turns, size_t lane) { turns.End(&lanes_[lane]); }
  void Pass(LaneTurns& turns, size_t lane, uint64_t round) { turns.Pass(&lanes_[lane], round); }
  void Leave(LaneTurns& turns, size_t lane) { turns.Leave(&lanes_[lane]); }

  std::array<char, 100> lanes_{};
  std::vector<size_t> begun_;
};

std::vector<size_t> Hundred() {
  std::vector<size_t> lanes;
  for (size_t lane = 100; lane-- > 0;) lanes.push_back(lane);
  return lanes;
}

TEST_F(LaneTurnsTest, OfALargeModelTwoLanesAreAtWorkAtATimeInTheOrderOfAsking) {
  LaneTurns turns(kLargeModel, Order::kOfAsking);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {3, 1, 2, 0});
  EXPECT_THAT(begun_, ElementsAre(3, 1));
  End(turns, 1);
  EXPECT_THAT(begun_, ElementsAre(3, 1, 2));
  End(turns, 3);
  End(turns, 2);
  EXPECT_THAT(begun_, ElementsAre(3, 1, 2, 0));
}

TEST_F(LaneTurnsTest, OrInTheOrderOfTheLanesThoughTheLowerOnesAskLater) {
  LaneTurns turns(kLargeModel, Order::kOfLanes);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {3, 1});
  EXPECT_THAT(begun_, ElementsAre());
  Ask(turns, {0});
  EXPECT_THAT(begun_, ElementsAre(0, 1));
  End(turns, 1);
  EXPECT_THAT(begun_, ElementsAre(0, 1)) << "3 comes after 2, who has not asked";
  Ask(turns, {2});
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2));
  End(turns, 0);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2, 3));
}

TEST_F(LaneTurnsTest, InEachRoundAnew) {
  LaneTurns turns(kLargeModel, Order::kOfLanes);
  Join(turns, {0, 1, 2});
  Ask(turns, {0, 1});
  End(turns, 0);
  End(turns, 1);
  Ask(turns, {1}, /*round=*/2);
  EXPECT_THAT(begun_, ElementsAre(0, 1));
  Ask(turns, {0}, /*round=*/2);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 0, 1));
}

TEST_F(LaneTurnsTest, HoweverManyAskNoMoreThanTwoAreAtWork) {
  LaneTurns turns(kLargeModel, Order::kOfLanes);
  Join(turns, Hundred());
  Ask(turns, Hundred());
  EXPECT_THAT(begun_, ElementsAre(0, 1));
}

// Shards that are full refuse 7 and 8 until 3 is in, which its former holder has left to us.
TEST_F(LaneTurnsTest, ALaneBelowAllOfThoseAtWorkDoesNotWaitForThem) {
  LaneTurns turns(kLargeModel, Order::kOfLanes);
  Join(turns, {7, 8, 9});
  Ask(turns, {7, 8, 9});
  Join(turns, {3, 4});
  Ask(turns, {4});
  EXPECT_THAT(begun_, ElementsAre(7, 8));
  Ask(turns, {3});
  EXPECT_THAT(begun_, ElementsAre(7, 8, 3));
  End(turns, 3);
  EXPECT_THAT(begun_, ElementsAre(7, 8, 3, 4));
}

TEST_F(LaneTurnsTest, NobodyWaitsForALaneWhoseTurnAnotherHolderHasHadOrThatIsGone) {
  LaneTurns turns(kLargeModel, Order::kOfLanes);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {3, 2}, /*round=*/5);
  Pass(turns, 0, /*round=*/5);
  EXPECT_THAT(begun_, ElementsAre());
  Leave(turns, 1);
  EXPECT_THAT(begun_, ElementsAre(2, 3));
}

TEST_F(LaneTurnsTest, WhoLeavesAtWorkMakesRoomForTheNext) {
  LaneTurns turns(kLargeModel, Order::kOfAsking);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {0, 1, 2, 3});
  Leave(turns, 0);
  Leave(turns, 0);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2));
}

TEST_F(LaneTurnsTest, OfASmallModelFourLanesAreAtWorkAndNoneOfFourWaitsForAnother) {
  for (const uint64_t dense_bytes : {0, 10'000}) {
    LaneTurns few(dense_bytes, Order::kOfLanes);
    begun_.clear();
    Join(few, {3, 2, 1, 0});
    Ask(few, {2});
    EXPECT_THAT(begun_, ElementsAre(2));
    LaneTurns many(dense_bytes, Order::kOfLanes);
    begun_.clear();
    Join(many, Hundred());
    Ask(many, {0, 1, 2, 3, 4, 5, 6});
    EXPECT_THAT(begun_, ElementsAre(0, 1, 2, 3));
    End(many, 2);
    EXPECT_THAT(begun_, ElementsAre(0, 1, 2, 3, 4));
  }
}

TEST_F(LaneTurnsTest, WhoNoLongerWaitsIsPassedOver) {
  LaneTurns turns(kLargeModel, Order::kOfAsking);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {0, 1, 2, 3});
  End(turns, 2);
  End(turns, 0);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 3));
}

TEST_F(LaneTurnsTest, AnEndWithoutATurnGivesNobodyOne) {
  LaneTurns turns(kLargeModel, Order::kOfAsking);
  Join(turns, {0, 1, 2, 3});
  Ask(turns, {0, 1, 2});
  End(turns, 3);
  End(turns, 7);
  EXPECT_THAT(begun_, ElementsAre(0, 1));
}

}  // namespace
}  // namespace capstan::worker
