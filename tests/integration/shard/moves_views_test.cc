// Views alone order moves and end them, whoever has missed one or is gone: until then a partition
// that is frozen for a move stays where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(MovesViewsTest, AFrozenPartitionAnswersPullsAndNothingElseUntilAViewEndsTheMove) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  const uint32_t all = trainer.Push(0, -1).count(v1::OUTCOME_APPLIED);
  ASSERT_GT(all, 8u);
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  ASSERT_EQ(trainer.Push(1, -1).count(v1::OUTCOME_APPLIED), all) << "while it is copied";
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  const PushResult refused = trainer.Push(2, -1);
  const uint32_t busy = refused.count(v1::OUTCOME_BUSY);
  EXPECT_GE(busy, 4u);
  EXPECT_EQ(refused.retry_after, absl::Milliseconds(5)) << "that takes but a moment";
  EXPECT_EQ(refused.count(v1::OUTCOME_APPLIED), all - busy);
  ASSERT_TRUE(trainer.Pull().status.ok());
  v1::CloseStreamsRequest close;
  close.mutable_header()->set_timeline(1);
  close.add_streams()->set_stream(5);
  ps::ReplicaWait nobody;
  EXPECT_TRUE(absl::IsUnavailable(shards.at(0).shard().CloseStreams(close, nobody)));
  EXPECT_TRUE(shards.at(1).shard().CloseStreams(close, nobody).ok());
  shards.Change(Cancel);
  EXPECT_TRUE(shards.at(0).shard().CloseStreams(close, nobody).ok());
  const PushResult again = trainer.Push(2, -1);
  EXPECT_EQ(again.count(v1::OUTCOME_APPLIED), busy) << "thawed";
  EXPECT_EQ(again.count(v1::OUTCOME_SETTLED), all - busy);
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_THAT(trainer.rows, Each(3));
  EXPECT_TRUE(absl::IsAborted(Ask(shards, move, true).status())) << "it is over";
  EXPECT_THAT(shards.at(0).Metrics(), HasSubstr("capstan_move_frozen_seconds_count 4"));
  EXPECT_THAT(shards.at(1).Metrics(), HasSubstr("capstan_move_staged_bytes 0"));
  ASSERT_TRUE(MoveAll(shards, {FirstHalf(), 0, 1}).ok()) << "another one";
  trainer.SetView(shards.view());
  EXPECT_EQ(trainer.Push(2, -1).count(v1::OUTCOME_SETTLED), all);
}

TEST(MovesViewsTest, ItIsOnlyTheNewestViewThatSaysWhatMoves) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  TestMove move{{2}, 0, 1};
  move.id.set_term(1);
  move.id.set_n(shards.view().epoch().n() + 1);
  EXPECT_TRUE(absl::IsUnavailable(Ask(shards, move, false).status())) << "its view is on its way";
  move.id.set_n(1);
  EXPECT_TRUE(absl::IsAborted(Ask(shards, move, false).status())) << "no view will name it";
  TestMove foreign{{7}, 0, 1};
  Announce(shards, foreign);
  EXPECT_TRUE(absl::IsAborted(Ask(shards, foreign, false).status())) << "another one's partition";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(shards, {{8}, 0, 1, foreign.id}, false).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(shards, {{}, 0, 1, foreign.id}, false).status()));
}

// Rule 16: it has missed two views, and its frozen copy is not the one that is served.
TEST(MovesViewsTest, AFrozenSourceThatMissedTheMovesThereAndBackDropsItsOldCopy) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  TestMove move{{2}, 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  shards.ChangeFor({1}, [&](v1::View& view) { Switch(view, move); });
  trainer.SetView(shards.view());
  const PushResult applied = trainer.Push(0, -1);
  ASSERT_EQ(applied.count(v1::OUTCOME_NOT_OWNER) + applied.count(v1::OUTCOME_BUSY), 0u)
      << "the target serves";
  shards.Change([&](v1::View& view) {  // It is the first one's again, by a copy that it lacks.
    move.id.set_n(move.id.n() + 1);
    Switch(view, {{2}, 1, 0, move.id});
  });
  trainer.SetView(shards.view());
  EXPECT_GE(trainer.Push(1, -1).count(v1::OUTCOME_NOT_OWNER), 1u);
}

TEST(MovesViewsTest, AnOlderViewGivesNothingBack) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  const v1::View before = shards.view();
  ASSERT_TRUE(MoveAll(shards, {FirstHalf(), 0, 1}).ok());
  for (int i = 0; i < 2; ++i) shards.at(i).SetView(before);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  const PushResult pushed = trainer.Push(0, -1);
  EXPECT_GT(pushed.count(v1::OUTCOME_APPLIED), 8u);
  EXPECT_EQ(pushed.count(v1::OUTCOME_NOT_OWNER) + pushed.count(v1::OUTCOME_BUSY), 0u);
}

// It would be carried out without the partitions that the view brings.
TEST(MovesViewsTest, AnOrderByAViewThatIsOnItsWayIsRefusedUntilTheShardFollowsIt) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  ps::Shard& shard = shards.at(1).shard();
  v1::RequestHeader header;
  *header.mutable_epoch() = shards.view().epoch();
  EXPECT_TRUE(shard.view().CheckFollowed(header).ok());
  header.mutable_epoch()->set_n(header.epoch().n() + 1);
  EXPECT_TRUE(absl::IsUnavailable(shard.view().CheckFollowed(header)));
  shards.ChangeFor({0}, [](v1::View&) {});
  EXPECT_TRUE(absl::IsUnavailable(shard.view().CheckFollowed(header)))
      << "only the other one has heard";
  EXPECT_TRUE(shards.at(0).shard().view().CheckFollowed(header).ok());
  shards.Change([](v1::View&) {});
  EXPECT_TRUE(shard.view().CheckFollowed(header).ok());
}

TEST(MovesViewsTest, WhereTheTargetIsGoneTheSourceServesOnAndIsFreeAgainWithTheView) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  shards.SetAddress(1, "127.0.0.1:1");
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards, move, true);
    ASSERT_TRUE(reply.ok() && !reply->copied() && !reply->done()) << reply.status();
    absl::SleepFor(absl::Milliseconds(5));
  }
  shards.Change(Cancel);
  EXPECT_THAT(shards.at(0).Metrics(), HasSubstr("capstan_move_sent_bytes_total 0"));
  shards.SetAddress(1, absl::StrCat("127.0.0.1:", shards.at(1).port()));
  ASSERT_TRUE(MoveAll(shards, {FirstHalf(), 0, 1}).ok());
}

TEST(MovesViewsTest, WhereTheSourceIsGoneTheTargetDropsWhatItWasSentWithTheTimeline) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  EXPECT_THAT(shards.at(1).Metrics(), testing::Not(HasSubstr("capstan_move_staged_bytes 0")));
  shards.SetTimeline(2);
  EXPECT_THAT(shards.at(1).Metrics(), HasSubstr("capstan_move_staged_bytes 0"));
  EXPECT_THAT(shards.at(0).Metrics(), HasSubstr("capstan_moving_partitions 0"));
}

}  // namespace
}  // namespace capstan
