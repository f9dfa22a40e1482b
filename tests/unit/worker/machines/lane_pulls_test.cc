#include "worker/machines/lane_pulls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Order = LaneTurns::Order;

constexpr uint64_t kModelOfTwoTurns = 100 << 20;
constexpr LaneIndex kLane{7};

// A pull is told by its ticket.
SendPull PullOf(Ticket ticket, uint64_t batch, int32_t shard, uint64_t round = 1) {
  return {.ticket = ticket,
          .shard = ShardIndex{shard},
          .batch = batch,
          .lane = LaneName{.lane = kLane, .round = round}};
}

class LanePullsTest : public testing::Test {
 protected:
  explicit LanePullsTest(Order order = Order::kOfAsking) : turns_(kModelOfTwoTurns, order) {}

  std::unique_ptr<LanePulls> Make(std::optional<LaneIndex> lane = kLane) {
    return std::make_unique<LanePulls>(
        turns_, lane, [this](const SendPull& pull) { pulled_.push_back(pull.ticket); });
  }

  // Two other lanes take the turns that there are.
  void TakeTurns() {
    for (const char& other : others_) {
      turns_.Join(&other, static_cast<LaneIndex>(&other - others_));
      turns_.Ask(&other, 1, [] {});
    }
  }
  void GiveTurnBack() { turns_.End(&others_[0]); }

  LaneTurns turns_;
  const char others_[2] = {};
  std::vector<Ticket> pulled_;
};

TEST_F(LanePullsTest, PullsThatAreNoLanesWaitForNobody) {
  TakeTurns();
  const auto pulls = Make(std::nullopt);
  pulls->Send({.ticket = 1, .batch = 1});
  EXPECT_THAT(pulled_, ElementsAre(1));
}

TEST_F(LanePullsTest, ALanesPullsWaitForItsTurnAndAreCarriedOutByBatchAndShard) {
  const auto pulls = Make();
  TakeTurns();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/1));
  pulls->Send(PullOf(2, /*batch=*/5, /*shard=*/0));
  pulls->Send(PullOf(3, /*batch=*/4, /*shard=*/1));
  EXPECT_THAT(pulled_, IsEmpty());
  GiveTurnBack();
  EXPECT_THAT(pulled_, ElementsAre(3, 2, 1));
}

TEST_F(LanePullsTest, OfThoseOfABatchFromAShardOnlyTheLastIsCarriedOut) {
  const auto pulls = Make();
  TakeTurns();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  pulls->Send(PullOf(2, /*batch=*/5, /*shard=*/0));
  GiveTurnBack();
  EXPECT_THAT(pulled_, ElementsAre(2));
}

TEST_F(LanePullsTest, InItsTurnNoPullWaitsAndAfterItTheyDoAgain) {
  const auto pulls = Make();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  TakeTurns();
  pulls->Send(PullOf(2, /*batch=*/5, /*shard=*/0));
  EXPECT_THAT(pulled_, ElementsAre(1, 2));
  pulls->EndTurn();
  pulls->Send(PullOf(3, /*batch=*/6, /*shard=*/0));
  EXPECT_THAT(pulled_, ElementsAre(1, 2));
}

TEST_F(LanePullsTest, ATurnThatIsOverIsAnotherLanes) {
  const auto first = Make(), second = Make(), third = Make();
  for (LanePulls* pulls : {first.get(), second.get(), third.get()}) {
    pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  }
  EXPECT_THAT(pulled_, ElementsAre(1, 1));
  second->EndTurn();
  EXPECT_THAT(pulled_, ElementsAre(1, 1, 1));
}

TEST_F(LanePullsTest, WhatWaitsWhenTheTurnIsGivenUpIsNeverPulled) {
  const auto pulls = Make();
  TakeTurns();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  pulls->EndTurn();
  pulls->Send(PullOf(2, /*batch=*/6, /*shard=*/0));
  GiveTurnBack();
  EXPECT_THAT(pulled_, ElementsAre(2));
}

TEST_F(LanePullsTest, WhatIsNotWantedAnyMoreIsForgotten) {
  const auto pulls = Make();
  TakeTurns();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  pulls->Send(PullOf(2, /*batch=*/5, /*shard=*/1));
  pulls->Send(PullOf(3, /*batch=*/6, /*shard=*/1));
  pulls->Keep([](uint64_t batch, ShardIndex shard) { return batch == 5 && Raw(shard) == 1; });
  GiveTurnBack();
  EXPECT_THAT(pulled_, ElementsAre(2));
}

TEST_F(LanePullsTest, ALaneThatHasLeftKeepsNoTurn) {
  const auto first = Make(), second = Make(), third = Make();
  for (LanePulls* pulls : {first.get(), second.get(), third.get()}) {
    pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  }
  EXPECT_THAT(pulled_, ElementsAre(1, 1));
  second->Leave();
  second->Leave();
  EXPECT_THAT(pulled_, ElementsAre(1, 1, 1));
}

TEST_F(LanePullsTest, NothingIsPulledForALeaseThatIsOver) {
  auto pulls = Make();
  TakeTurns();
  pulls->Send(PullOf(1, /*batch=*/5, /*shard=*/0));
  pulls.reset();
  GiveTurnBack();
  EXPECT_THAT(pulled_, IsEmpty());
}

class LanePullsInOrderTest : public LanePullsTest {
 protected:
  LanePullsInOrderTest() : LanePullsTest(Order::kOfLanes) {}
};

TEST_F(LanePullsInOrderTest, ALaneIsWaitedForFromItsFirstMomentUntilItPassesTheRound) {
  const auto low = Make(LaneIndex{0}), high = Make(LaneIndex{1}), higher = Make(LaneIndex{2});
  high->Send(PullOf(1, /*batch=*/5, /*shard=*/0, /*round=*/3));
  EXPECT_THAT(pulled_, IsEmpty());
  low->Pass(2);
  EXPECT_THAT(pulled_, IsEmpty());
  low->Pass(3);
  EXPECT_THAT(pulled_, ElementsAre(1));
}

TEST_F(LanePullsInOrderTest, TheTurnIsAskedForInTheRoundOfThePull) {
  const auto low = Make(LaneIndex{0}), high = Make(LaneIndex{1}), higher = Make(LaneIndex{2});
  low->Send(PullOf(1, /*batch=*/5, /*shard=*/0, /*round=*/3));
  high->Send(PullOf(2, /*batch=*/5, /*shard=*/0, /*round=*/4));
  EXPECT_THAT(pulled_, ElementsAre(1)) << "the lower lane has had its turn in round 3 only";
}

}  // namespace
}  // namespace capstan::worker
