// Partitions of a synchronous job that move between real shards, between two rounds and in the
// middle of one; the coordinator's own among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/consistency/generation.h"
#include "ps/process/coordinator_link.h"
#include "ps/shard/coordinator_watch.h"
#include "tests/integration/shard/lanes.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/runner.h"
#include "tests/integration/shard/test_moves.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int kLanes = Lanes::kLanes;

struct Road {
  int owners;  // Of two shards; the other one is served without partitions.
  std::vector<TestMove> moves;
};

class MovesSyncTest : public testing::TestWithParam<Road> {};

TEST_P(MovesSyncTest, RoundsGoOnAtTheNextOwnerBitByBit) {
  LocalShards shards(SyncJob(kLanes), 2, 0, {}, GetParam().owners), others(SyncJob(kLanes), 1);
  Lanes moved(shards), undisturbed(others);
  for (TestMove move : GetParam().moves) {
    moved.Train(3);
    undisturbed.Train(3);
    Announce(shards, move);
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    moved.Train(2);  // What the rest has to bring.
    undisturbed.Train(2);
    moved.Hold();
    const absl::Status ended = AwaitEnd(shards, move);
    ASSERT_TRUE(ended.ok()) << ended;
    const bool coordinator_moves = move.partitions[0] == 0;
    if (!coordinator_moves) moved.Release();
    shards.Change([&](v1::View& view) { Switch(view, move); });
    moved.SetView();
    EXPECT_EQ(moved[0].Open().answer(), v1::OpenRoundReply::ANSWER_OPEN) << "nobody holds it";
  }
  // More rounds than a log keeps, so that every shard forgets.
  moved.Train(40);
  undisturbed.Train(40);
  EXPECT_EQ(moved.Everything(), undisturbed.Everything());
}

INSTANTIATE_TEST_SUITE_P(
    Roads, MovesSyncTest,
    testing::Values(Road{2, {{{2, 4, 6}, 0, 1}}},        // Not the coordinator's,
                    Road{2, {{{0, 2}, 0, 1}}},           // that one,
                    Road{1, {{AllPartitions(), 0, 1}}},  // to a shard that has just come,
                    Road{1, {{AllPartitions(), 0, 1}, {AllPartitions(), 1, 0}}},  // and back again.
                    Road{2, {{{1, 3, 5, 7}, 1, 0}, {{3, 4}, 0, 1}}}));

// Rule 25.
TEST(MovesSyncTest, InTheMiddleOfARoundNothingFreezesAndTheRoundGoesOn) {
  LocalShards shards(SyncJob(kLanes), 2);
  Lanes lanes(shards);
  lanes.Train(1);
  TestMove move{{2, 4}, 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  lanes[0].Train(-1, 1);
  const absl::Status refused = Ask(shards, move, /*finish=*/true).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("staged"));
  lanes[1].Train(-3, 1);
  lanes.Hold();
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  shards.Change([&](v1::View& view) { Switch(view, move); });
  lanes.SetView();
  lanes.Release();
  lanes.Train(1);
}

// Rule 26.
TEST(MovesSyncTest, ACoordinatorOnItsWayIsSilentAndSpeaksAgainWhereTheMoveIsCancelled) {
  LocalShards shards(SyncJob(kLanes), 2);
  Lanes lanes(shards);
  lanes.Train(2);
  TestMove move{{0}, 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  lanes.Hold();
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  v1::OpenRoundRequest open;
  ToProto(Generation{1, 1}, *open.mutable_generation());
  EXPECT_TRUE(absl::IsUnavailable((lanes[0].Call<v1::OpenRoundReply>("OpenRound", open).status())));
  shards.Change(Cancel);
  lanes.Release();
  lanes.Train(1);
  move = {{0}, 0, 1};
  lanes.Hold();
  ASSERT_TRUE(MoveAll(shards, move).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition((lanes[0].Call<v1::OpenRoundReply>("OpenRound", open).status())))
      << "it is another one's";
  lanes.SetView();
  lanes.Train(1);
}

// Rule 1, across a move: the fence goes with the coordinator.
TEST(MovesSyncTest, ARunnerThatWasFencedOffIsFencedOffAtTheNextCoordinator) {
  LocalShards shards(SyncJob(/*lanes=*/1), 2);
  Runner old(shards, 0, /*generation=*/1), present(shards, 0, /*generation=*/2);
  ASSERT_EQ(old.Open().round(), 1u);
  EXPECT_EQ(present.Open().answer(), v1::OpenRoundReply::ANSWER_OPEN);
  TestMove move{{0}, 0, 1};
  ASSERT_TRUE(MoveAll(shards, move).ok());
  for (Runner* runner : {&old, &present}) runner->SetView(shards.view());
  ASSERT_TRUE(old.Stage(-100, 1).status.ok());
  EXPECT_EQ(old.Report(), v1::ReportLaneReply::ANSWER_OLD_GENERATION);
  present.Train(-1, 1);
  ASSERT_EQ(present.Open().round(), 2u);
  ASSERT_TRUE(present.Pull().status.ok());
  EXPECT_THAT(present.rows(), Each(1));
}

TEST(MovesSyncTest, TheNextCoordinatorIsAskedForAllThatTheLastOneHasTold) {
  LocalShards shards(SyncJob(kLanes), 2);
  ps::CoordinatorWatch watch(shards.at(0).shard());
  ASSERT_TRUE(watch.SetView(shards.view()));
  v1::WatchCountsReply told;
  told.set_round(1);
  told.add_ended(1);
  EXPECT_TRUE(watch.Hear(watch.Request(), told).value());
  EXPECT_EQ(watch.Request().ended(), 1u);
  ASSERT_TRUE(MoveAll(shards, {{0}, 0, 1}).ok());
  ASSERT_TRUE(watch.SetView(shards.view()));
  EXPECT_EQ(watch.Request().ended(), 0u) << "it has them in another order";
}

TEST(MovesSyncTest, WhatTheCoordinatorTellsBeforeAShardServesIsAskedForAgain) {
  LocalShards shards(SyncJob(kLanes), 2);
  ps::Shard& shard = shards.at(1).shard();
  ps::CoordinatorWatch watch(shard);
  v1::View later = shards.view();
  later.set_timeline(later.timeline() + 1);
  ASSERT_TRUE(shard.contents().BeginLoad(later.timeline()).ok());
  ASSERT_TRUE(watch.SetView(later));
  v1::WatchCountsReply told;
  told.set_round(1);
  told.add_ended(1);
  EXPECT_FALSE(watch.Hear(watch.Request(), told).value());
  EXPECT_EQ(watch.Request().ended(), 0u);
  ASSERT_TRUE(shard.contents().Serve(later.timeline(), {}).ok());
  EXPECT_TRUE(watch.Hear(watch.Request(), told).value());
  EXPECT_EQ(watch.Request().ended(), 1u);
}

// Shards that add what is counted ask the next coordinator for all of it.
TEST(MovesSyncTest, ShardsFollowTheCountsOfTheNextCoordinator) {
  LocalShards shards(SyncJob(kLanes), 2);
  std::deque<ps::CoordinatorLink> links;
  for (int i = 0; i < 2; ++i)
    links.emplace_back(shards.at(i).shard(), nullptr).SetView(shards.view());
  Lanes lanes(shards);
  lanes.Train(2);
  lanes.Hold();
  ASSERT_TRUE(MoveAll(shards, {{0}, 0, 1}).ok());
  for (ps::CoordinatorLink& link : links) link.SetView(shards.view());
  lanes.SetView();
  lanes[0].Train(-1, 1);
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  for (int i = 0; i < 2; ++i) {
    while (shards.at(i).shard().waiting_gradients().held() > 0 && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(shards.at(i).shard().waiting_gradients().held(), 0u) << "added before it closes";
  }
  lanes[1].Train(-1, 1);
  lanes.Train(1);
}

}  // namespace
}  // namespace capstan
