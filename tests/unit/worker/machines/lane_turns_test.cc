#include "worker/machines/lane_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;

constexpr uint64_t kLargeModel = 100 << 20;

class LaneTurnsTest : public testing::Test {
 protected:
  void Ask(LaneTurns& turns, size_t lane) {
    turns.Ask(&lanes_[lane], [this, lane] { begun_.push_back(lane); });
  }
  void End(LaneTurns& turns, size_t lane) { turns.End(&lanes_[lane]); }

  std::array<char, 100> lanes_{};
  std::vector<size_t> begun_;
};

TEST_F(LaneTurnsTest, OfALargeModelTwoLanesAreAtWorkAtATimeInTheOrderOfAsking) {
  LaneTurns turns(kLargeModel);
  for (size_t lane : {3, 1, 2, 0}) Ask(turns, lane);
  EXPECT_THAT(begun_, ElementsAre(3, 1));
  End(turns, 1);
  EXPECT_THAT(begun_, ElementsAre(3, 1, 2));
  End(turns, 3);
  End(turns, 2);
  EXPECT_THAT(begun_, ElementsAre(3, 1, 2, 0));
}

TEST_F(LaneTurnsTest, OfASmallModelAllLanesAre) {
  LaneTurns turns(/*dense_bytes=*/10'000);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) Ask(turns, lane);
  EXPECT_EQ(begun_.size(), lanes_.size());
}

TEST_F(LaneTurnsTest, AModelWithoutTensorsBoundsNothing) {
  LaneTurns turns(/*dense_bytes=*/0);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) Ask(turns, lane);
  EXPECT_EQ(begun_.size(), lanes_.size());
}

TEST_F(LaneTurnsTest, WhoNoLongerWaitsIsPassedOver) {
  LaneTurns turns(kLargeModel);
  for (size_t lane : {0, 1, 2, 3}) Ask(turns, lane);
  End(turns, 2);
  End(turns, 0);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 3));
}

TEST_F(LaneTurnsTest, AnEndWithoutATurnGivesNobodyOne) {
  LaneTurns turns(kLargeModel);
  for (size_t lane : {0, 1, 2}) Ask(turns, lane);
  End(turns, 7);
  EXPECT_THAT(begun_, ElementsAre(0, 1));
}

TEST_F(LaneTurnsTest, WhoHasHadATurnAsksBehindThoseWhoWait) {
  LaneTurns turns(kLargeModel);
  for (size_t lane : {0, 1, 2, 3}) Ask(turns, lane);
  End(turns, 0);
  Ask(turns, 0);
  End(turns, 1);
  EXPECT_THAT(begun_, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace capstan::worker
