#include "chief/machines/partition_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Two batches of a plan: partitions 0 and 1 from shards 0 and 1, then 2 from shard 0, all to 2.
class PartitionMovesTest : public testing::Test {
 protected:
  PartitionMovesTest() {
    for (uint32_t i = 0; i < 4; ++i) view_.add_owners(i % 2);
    for (uint32_t i = 0; i < 3; ++i) view_.add_shards()->set_index(i);
    moves_.Plan({{0, 0, 2}, {1, 1, 2}, {2, 0, 2}}, "shard 2 has joined");
  }

  std::vector<PlannedMove> Begin() {
    std::vector<PlannedMove> batch = moves_.Begin([](const PlannedMove&) { return 100; }, now_);
    view_.clear_moves();
    view_.mutable_epoch()->set_n(view_.epoch().n() + 1);
    for (const PlannedMove& planned : batch) {
      v1::PartitionMove& move = *view_.add_moves();
      move.set_partition(planned.partition);
      move.set_to(planned.to);
      *move.mutable_id() = view_.epoch();
    }
    return batch;
  }
  bool Publish() { return moves_.OnView(view_, now_, calls_); }
  // The calls that are due now, by shard.
  std::map<uint32_t, v1::MovePartitionsRequest> Due() {
    std::map<uint32_t, v1::MovePartitionsRequest> due;
    for (const CallShard& call : calls_.TakeDue(view_, ShardTable(0, 0), now_)) {
      due[call.shard] = call.request.Get<v1::MovePartitionsRequest>();
    }
    return due;
  }
  void Answer(uint32_t shard, bool copied, bool done, uint64_t bytes = 0) {
    v1::MovePartitionsReply reply;
    reply.set_copied(copied);
    reply.set_done(done);
    reply.set_bytes(bytes);
    reply.set_bytes_expected(100);
    moves_.OnAnswer(shard, ShardReply(reply), now_, calls_);
  }
  void AnswerBothCopied() {
    (void)Due();
    Answer(0, /*copied=*/true, /*done=*/false);
    Answer(1, /*copied=*/true, /*done=*/false);
  }
  void Copy() {
    Begin();
    Publish();
    AnswerBothCopied();
    AnswerBothCopied();  // They have caught up.
  }

  PartitionMoves moves_{{.batch_partitions = 2, .patience = absl::Seconds(30)}};
  ShardCalls calls_;
  v1::View view_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(PartitionMovesTest, NobodyIsAskedBeforeAViewNamesTheMoves) {
  EXPECT_THAT(Begin(), SizeIs(2));
  EXPECT_TRUE(moves_.Concerns(1));
  EXPECT_FALSE(moves_.Concerns(3));
  v1::View before = view_;
  before.clear_moves();
  EXPECT_FALSE(moves_.OnView(before, now_, calls_));
  EXPECT_THAT(Due(), IsEmpty());
  EXPECT_FALSE(Publish());
  const auto due = Due();
  ASSERT_THAT(due, SizeIs(2));
  EXPECT_THAT(due.at(0).partitions(), testing::ElementsAre(0));
  EXPECT_EQ(due.at(0).id().n(), view_.epoch().n());
  EXPECT_FALSE(due.at(0).finish());
}

TEST_F(PartitionMovesTest, TheSourcesStandStillWhenAllHaveCopiedAndTheSwitchIsPossible) {
  Begin();
  Publish();
  (void)Due();
  Answer(0, /*copied=*/true, /*done=*/false);
  EXPECT_FALSE(moves_.wants_quiet());
  Answer(1, /*copied=*/false, /*done=*/false, 40);
  EXPECT_EQ(moves_.Status().bytes(), 40u);
  EXPECT_THAT(Due(), IsEmpty()) << "it is asked again in a moment";
  now_ += absl::Milliseconds(50);
  EXPECT_THAT(Due(), SizeIs(1));
  Answer(1, /*copied=*/true, /*done=*/false, 100);
  EXPECT_FALSE(moves_.copied()) << "much has changed at shard 0 since it had copied";
  AnswerBothCopied();
  EXPECT_TRUE(moves_.copied());
  EXPECT_TRUE(moves_.wants_quiet());
  moves_.Finish(now_, calls_);
  const auto due = Due();
  ASSERT_THAT(due, SizeIs(2));
  EXPECT_TRUE(due.at(1).finish());
}

TEST_F(PartitionMovesTest, NoSourceStandsStillWhileAnotherOneCatchesUp) {
  Begin();
  Publish();
  AnswerBothCopied();
  EXPECT_THAT(Due(), SizeIs(2)) << "both are asked again";
  Answer(0, /*copied=*/true, /*done=*/false);
  Answer(1, /*copied=*/false, /*done=*/false);
  EXPECT_FALSE(moves_.copied());
  now_ += absl::Milliseconds(10);
  const auto due = Due();
  ASSERT_THAT(due, SizeIs(1)) << "the other one has caught up";
  EXPECT_FALSE(due.at(1).finish());
  EXPECT_FALSE(moves_.wants_quiet());
  Answer(1, /*copied=*/true, /*done=*/false);
  EXPECT_TRUE(moves_.copied());
}

TEST_F(PartitionMovesTest, WhereTheSwitchHasToWaitTheSourcesGoOnCatchingUp) {
  Copy();
  moves_.CatchUpIfDue(now_, calls_);
  EXPECT_TRUE(moves_.copied()) << "they have only just caught up";
  now_ += absl::Milliseconds(200);
  moves_.CatchUpIfDue(now_, calls_);
  EXPECT_FALSE(moves_.copied());
  EXPECT_TRUE(moves_.wants_quiet()) << "what the switch would disturb may not begin again";
  EXPECT_THAT(Due(), SizeIs(2));
  now_ += absl::Milliseconds(300);  // That is what it takes.
  Answer(0, /*copied=*/true, /*done=*/false);
  Answer(1, /*copied=*/true, /*done=*/false);
  now_ += absl::Milliseconds(1199);
  moves_.CatchUpIfDue(now_, calls_);
  EXPECT_TRUE(moves_.copied()) << "not for more than a fifth of the time";
  now_ += absl::Milliseconds(1);
  moves_.CatchUpIfDue(now_, calls_);
  EXPECT_FALSE(moves_.copied());
}

TEST_F(PartitionMovesTest, ASwitchThatDoesNotBecomePossibleIsGivenUpThoughSourcesCatchUp) {
  Copy();
  const absl::Time copied = now_;
  while (now_ < copied + absl::Minutes(5)) {
    EXPECT_TRUE(moves_.Failure(now_).ok());
    now_ += absl::Seconds(1);
    moves_.CatchUpIfDue(now_, calls_);
    AnswerBothCopied();
  }
  now_ += absl::Seconds(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(moves_.Failure(now_)));
}

TEST_F(PartitionMovesTest, PartitionsDoNotStandStillLongForASourceThatHangs) {
  Copy();
  moves_.Finish(now_, calls_);
  Answer(0, /*copied=*/true, /*done=*/true);
  now_ += absl::Seconds(3);
  EXPECT_TRUE(moves_.Failure(now_).ok());
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(moves_.Failure(now_).message(), "no progress for 3s by shard 1");
}

TEST_F(PartitionMovesTest, TheSwitchTakesFromTheOrderToTheView) {
  Copy();
  moves_.Finish(now_, calls_);
  (void)Due();
  now_ += absl::Milliseconds(3);
  Answer(0, /*copied=*/true, /*done=*/true);
  Answer(1, /*copied=*/true, /*done=*/false);
  EXPECT_FALSE(moves_.done());
  now_ += absl::Milliseconds(3);
  EXPECT_THAT(Due(), SizeIs(1)) << "asked often";
  Answer(1, /*copied=*/true, /*done=*/true);
  ASSERT_TRUE(moves_.done());
  moves_.Switch();
  EXPECT_FALSE(Publish()) << "the view that others know still names the moves";
  EXPECT_TRUE(moves_.wants_quiet()) << "an order by that view would find the target without them";
  view_.clear_moves();
  view_.set_owners(0, 2);
  view_.set_owners(1, 2);
  now_ += absl::Milliseconds(4);
  EXPECT_TRUE(Publish());
  EXPECT_FALSE(moves_.wants_quiet());
  EXPECT_NEAR(moves_.Status().seconds(), 0.010, 1e-9);
  EXPECT_EQ(moves_.Status().moved(), 2u);
  EXPECT_TRUE(moves_.planned()) << "the rest of the plan";
  EXPECT_THAT(Begin(), testing::ElementsAre(PlannedMove{2, 0, 2}));
}

TEST_F(PartitionMovesTest, ABatchIsBoundedInBytesButHoldsOneAtLeast) {
  PartitionMoves moves({.batch_partitions = 9, .batch_bytes = 250});
  moves.Plan({{0, 0, 2}, {1, 1, 2}, {2, 0, 2}, {3, 1, 2}}, "");
  const auto bytes_of = [](const PlannedMove& move) { return move.partition == 2 ? 1000u : 100u; };
  EXPECT_THAT(moves.Begin(bytes_of, now_), SizeIs(2));
  moves.Cancel(/*failed=*/false, now_, calls_);
  moves.Plan({{2, 0, 2}, {3, 1, 2}}, "");
  EXPECT_THAT(moves.Begin(bytes_of, now_), SizeIs(1));
}

TEST_F(PartitionMovesTest, APartitionIsInABatchOnce) {
  PartitionMoves moves({.batch_partitions = 9});
  moves.Plan({{0, 0, 2, true}, {1, 1, 2, true}, {0, 0, 2}, {1, 1, 2}}, "");
  const auto bytes_of = [](const PlannedMove&) { return 1u; };
  EXPECT_THAT(moves.Begin(bytes_of, now_), SizeIs(2));
  EXPECT_TRUE(moves.planned());
}

TEST_F(PartitionMovesTest, ARefusalOrNoProgressIsAFailure) {
  Begin();
  Publish();
  moves_.OnAnswer(1, absl::AbortedError("no room"), now_, calls_);
  EXPECT_EQ(moves_.Failure(now_).message(), "shard 1: no room");
  moves_.Cancel(/*failed=*/true, now_, calls_);
  EXPECT_FALSE(moves_.planned());
  EXPECT_FALSE(calls_.Pending<v1::MovePartitionsRequest>());
  EXPECT_EQ(moves_.FailuresOf(1), 1);
  EXPECT_FALSE(moves_.MayBegin(now_)) << "not at once again";
  now_ += absl::Seconds(2);
  EXPECT_TRUE(moves_.MayBegin(now_));

  moves_.Plan({{0, 0, 2}}, "");
  Begin();
  Publish();
  now_ += absl::Seconds(20);
  Answer(0, /*copied=*/false, /*done=*/false, 10);
  now_ += absl::Seconds(29);
  EXPECT_TRUE(moves_.Failure(now_).ok());
  now_ += absl::Seconds(2);
  EXPECT_TRUE(absl::IsDeadlineExceeded(moves_.Failure(now_)));
}

TEST_F(PartitionMovesTest, ReplicasAreCountedByThemselvesAndAFailureOfThemKeepsNobodyFromLeaving) {
  moves_.Plan({{0, 0, 2, /*replica=*/true}}, "1 partition has no backup");
  Begin();
  Publish();
  moves_.Cancel(/*failed=*/true, now_, calls_);
  EXPECT_EQ(moves_.FailuresOf(0), 0);
  EXPECT_EQ(moves_.FailuresOf(2), 0);
  EXPECT_FALSE(moves_.MayBegin(now_)) << "not at once again";
  now_ += absl::Seconds(2);
  moves_.Plan({{0, 0, 2, /*replica=*/true}}, "1 partition has no backup");
  Begin();
  Publish();
  for (int i = 0; i < 2; ++i) {
    (void)Due();
    Answer(0, /*copied=*/true, /*done=*/false);
  }
  moves_.Finish(now_, calls_);
  (void)Due();
  Answer(0, /*copied=*/true, /*done=*/true);
  moves_.Switch();
  view_.clear_moves();
  EXPECT_TRUE(Publish()) << "the owner stays";
  EXPECT_EQ(moves_.Status().paired(), 1u);
  EXPECT_EQ(moves_.Status().moved(), 0u);
}

TEST_F(PartitionMovesTest, WhatComesAfterACancelIsNotHeard) {
  Begin();
  Publish();
  moves_.Cancel(/*failed=*/false, now_, calls_);
  Answer(0, /*copied=*/true, /*done=*/false);
  Answer(1, /*copied=*/true, /*done=*/false);
  EXPECT_EQ(moves_.phase(), PartitionMoves::Phase::kIdle);
  EXPECT_EQ(moves_.Status().cancelled(), 2u);
  EXPECT_EQ(moves_.FailuresOf(0), 0) << "something else came first";
}

}  // namespace
}  // namespace capstan::chief
