// Partitions that move between real shards while clients push: every push counts once, and what is
// served afterwards is what would have been served without a move.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/placement/placement.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

// The partitions of the first of two shards.
std::vector<uint32_t> FirstHalf() { return {0, 2, 4, 6}; }

v1::JobSpec AdamJob() {
  v1::JobSpec job = SmallJob(Crowd::kColumns, Crowd::kColumns);
  for (v1::OptimizerSpec* optimizer :
       {job.mutable_tables(0)->mutable_optimizer(), job.mutable_tensors(0)->mutable_optimizer()}) {
    optimizer->set_kind(v1::OPTIMIZER_KIND_ADAM);
    optimizer->set_learning_rate(.01f);
    optimizer->set_beta1(.9f);
    optimizer->set_beta2(.999f);
    optimizer->set_epsilon(1e-8f);
  }
  return job;
}

std::vector<uint64_t> Keys(uint64_t first, uint64_t count) {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < first + count; ++key) keys.push_back(key);
  return keys;
}

// A push of the step's own rows and gradient, as the undisturbed job has it too.
void Step(Trainer& trainer, uint64_t step) {
  trainer.Plan(Keys(step % 7, 20 + step % 5));
  const PushResult pushed = trainer.Push(step, .5f + static_cast<float>(step % 3));
  ASSERT_TRUE(pushed.status.ok()) << pushed.status;
  ASSERT_EQ(pushed.count(v1::OUTCOME_BUSY) + pushed.count(v1::OUTCOME_NOT_OWNER), 0u);
}

void ExpectSame(Trainer& moved, Trainer& undisturbed) {
  for (Trainer* trainer : {&moved, &undisturbed}) {
    trainer->Plan(Keys(0, 40));
    const PullResult pulled = trainer->Pull();
    ASSERT_TRUE(pulled.status.ok()) << pulled.status;
  }
  EXPECT_EQ(moved.rows, undisturbed.rows) << "bit by bit";
  EXPECT_EQ(moved.dense, undisturbed.dense);
  EXPECT_EQ(moved.versions, undisturbed.versions);
}

// ---- exactly once ----

TEST(MovesTest, PushesRunWhilePartitionsMoveThereAndBackAndEachCountsOnce) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Crowd crowd(shards);
  crowd.AwaitPushes(20);
  for (const TestMove& move :
       {TestMove{FirstHalf(), 0, 1}, TestMove{AllPartitions(), 1, 0}, TestMove{{2, 5}, 0, 1}}) {
    const absl::Status moved = MoveAll(shards, move);
    ASSERT_TRUE(moved.ok()) << moved;
    absl::SleepFor(absl::Milliseconds(20));  // They are refused, by the old view.
    crowd.Tell(shards.view());
    crowd.AwaitPushes(20);
  }
  crowd.ExpectExact();
}

TEST(MovesTest, SoItIsWithAnAggregationQueue) {
  v1::JobSpec job = SmallJob(Crowd::kColumns, Crowd::kColumns);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_aggregate(3);
  }
  LocalShards shards(job, 2);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  uint32_t all = 0;
  for (uint64_t seq = 0; seq < 4; ++seq) {  // They are applied by threes.
    all = trainer.Push(seq, -3).count(v1::OUTCOME_QUEUED);
    ASSERT_GT(all, 8u);
  }
  ASSERT_TRUE(MoveAll(shards, {FirstHalf(), 0, 1}).ok());
  trainer.SetView(shards.view());
  ASSERT_EQ(trainer.Push(3, -3).count(v1::OUTCOME_SETTLED), all) << "queued is settled";
  ps::ReplicaWait nobody;
  (void)shards.at(1).shard().Flush(nobody);
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_THAT(trainer.rows, Each(6)) << "a mean of three, and one of one";
}

TEST(MovesTest, WhatHasMovedIsBitByBitWhatItWouldHaveBeen) {
  LocalShards shards(AdamJob(), 2), others(AdamJob(), 2);
  Trainer moved(shards), undisturbed(others);
  uint64_t step = 0;
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i, ++step) {
      Step(moved, step);
      Step(undisturbed, step);
    }
  };
  for (int round = 0; round < 3; ++round) {
    train(5);
    TestMove move{AllPartitions(), round % 2, 1 - round % 2};
    if (round == 0) move.partitions = FirstHalf();
    Announce(shards, move);
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    train(5);  // What the rest has to bring.
    ASSERT_TRUE(AwaitEnd(shards, move).ok());
    shards.Change([&](v1::View& view) { Switch(view, move); });
    moved.SetView(shards.view());
    train(5);
    ExpectSame(moved, undisturbed);
  }
}

TEST(MovesTest, ARateBoundsWhatCopiesTakeOfTheNetwork) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  v1::MovePartitionsRequest order;
  order.mutable_header()->set_timeline(1);
  *order.mutable_id() = move.id;
  for (const uint32_t partition : move.partitions) order.add_partitions(partition);
  order.set_bytes_per_second(2 << 20);
  const absl::Time begun = absl::Now();
  absl::StatusOr<v1::MovePartitionsReply> reply;
  do {
    absl::SleepFor(absl::Milliseconds(5));
    reply = shards.at(0).mover().Order(order);
  } while (reply.ok() && !reply->copied());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GT(absl::Now() - begun, absl::Milliseconds(500)) << "the last of four waits for three";
  EXPECT_GE(reply->bytes(), 4u * (512 << 10));
  EXPECT_EQ(reply->bytes_expected(), reply->bytes());
}

TEST(MovesTest, NoRateHoldsUpTheRestForWhichPushesWait) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  TestMove move{{FirstHalf().front()}, 0, 1};
  Announce(shards, move);
  v1::MovePartitionsRequest order;
  order.mutable_header()->set_timeline(1);
  *order.mutable_id() = move.id;
  order.add_partitions(move.partitions.front());
  order.set_bytes_per_second(26 << 10);  // The copy has booked twenty seconds.
  const absl::Time begun = absl::Now();
  absl::StatusOr<v1::MovePartitionsReply> reply;
  do {
    absl::SleepFor(absl::Milliseconds(5));
    order.set_finish(reply.ok() && reply->copied());
    reply = shards.at(0).mover().Order(order);
  } while (reply.ok() && !reply->done());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
}

// ---- frozen ----

TEST(MovesTest, AFrozenPartitionAnswersPullsAndNothingElseUntilAViewEndsTheMove) {
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

TEST(MovesTest, ItIsOnlyTheNewestViewThatSaysWhatMoves) {
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
TEST(MovesTest, AFrozenSourceThatMissedTheMovesThereAndBackDropsItsOldCopy) {
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

TEST(MovesTest, AnOlderViewGivesNothingBack) {
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

// ---- others who copy, and who die ----

TEST(MovesTest, SavesAndMovesRefuseEachOther) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  const std::string folder = absl::StrCat("file://", testing::TempDir(), "/moves_and_saves");
  v1::SavePartitionsRequest save;
  save.mutable_header()->set_timeline(1);
  save.set_uri(folder);
  save.set_id("1-a");
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  EXPECT_TRUE(absl::IsUnavailable(shards.at(0).saver().Order(save).status()));
  EXPECT_TRUE(shards.at(1).saver().Order(save).ok()) << "the target copies nothing";
  shards.Change(Cancel);
  absl::StatusOr<v1::SavePartitionsReply> saved;
  do {
    saved = shards.at(0).saver().Order(save);
  } while (saved.ok() && !saved->done());
  ASSERT_TRUE(saved.ok()) << saved.status();
  for (const v1::SavedFile& file : saved->files()) EXPECT_FALSE(file.delta());
  ASSERT_TRUE(shards.at(0).shard().copies().Take(ps::CopyTurn::Holder::kSave));
  TestMove other{FirstHalf(), 0, 1};
  Announce(shards, other);
  EXPECT_TRUE(absl::IsUnavailable(Ask(shards, other, false).status()));
}

TEST(MovesTest, WhereTheTargetIsGoneTheSourceServesOnAndIsFreeAgainWithTheView) {
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

TEST(MovesTest, WhereTheSourceIsGoneTheTargetDropsWhatItWasSentWithTheTimeline) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  EXPECT_THAT(shards.at(1).Metrics(), testing::Not(HasSubstr("capstan_move_staged_bytes 0")));
  shards.SetTimeline(2);
  EXPECT_THAT(shards.at(1).Metrics(), HasSubstr("capstan_move_staged_bytes 0"));
  EXPECT_THAT(shards.at(0).Metrics(), HasSubstr("capstan_moving_partitions 0"));
}

// ---- a shard without partitions ----

TEST(MovesTest, AShardWithoutPartitionsIsServedAndAnswers) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2, 0, {}, /*owners=*/1);
  ps::Shard& empty = shards.at(1).shard();
  EXPECT_EQ(empty.timeline(), 1u);
  EXPECT_EQ(empty.Report().partitions_size(), 0);
  v1::CloseStreamsRequest close;
  close.mutable_header()->set_timeline(1);
  close.add_streams()->set_stream(5);
  ps::ReplicaWait nobody;
  EXPECT_TRUE(empty.CloseStreams(close, nobody).ok());
  EXPECT_EQ(empty.Flush(nobody), 0u);
  v1::SavePartitionsRequest save;
  save.mutable_header()->set_timeline(1);
  save.set_uri(absl::StrCat("file://", testing::TempDir(), "/nothing"));
  save.set_id("1-a");
  absl::StatusOr<v1::SavePartitionsReply> saved;
  do {
    saved = shards.at(1).saver().Order(save);
  } while (saved.ok() && !saved->done());
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->files_size(), 0);
  ASSERT_TRUE(MoveAll(shards, {AllPartitions(), 0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 30));
  EXPECT_GT(trainer.Push(0, -1).count(v1::OUTCOME_APPLIED), 8u);
  EXPECT_EQ(shards.at(0).shard().Report().partitions_size(), 0) << "now it has none";
}

TEST(MovesTest, AShardTellsOfTheLoadOfEachOfItsPartitions) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Trainer trainer(shards);
  trainer.Plan({1});
  const uint32_t home = static_cast<uint32_t>(
      Raw(PartitionOfKey(1, shards.job().tables(0).seed(), shards.job().partition_count())));
  const int owner = static_cast<int>(shards.view().owners(static_cast<int>(home)));
  const auto load_of_home = [&](int shard) {
    v1::PartitionLoad load;
    const v1::ShardReport report = shards.at(shard).shard().Report();
    for (const v1::PartitionLoad& of : report.partitions()) {
      if (of.partition() == home) load = of;
    }
    return load;
  };
  const v1::PartitionLoad before = load_of_home(owner);
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  ASSERT_TRUE(trainer.Push(0, -1).status.ok()) << "settled before: no load";
  ASSERT_TRUE(trainer.Pull().status.ok());
  const v1::PartitionLoad after = load_of_home(owner);
  const uint64_t blocks = after.pushed_rows() - before.pushed_rows() - 1;
  EXPECT_LE(blocks, 1u);
  EXPECT_EQ(after.pulled_rows() - before.pulled_rows(), 1 + blocks);
  EXPECT_GT(after.bytes(), 0u);
  ASSERT_TRUE(MoveAll(shards, {{home}, owner, 1 - owner}).ok());
  EXPECT_EQ(load_of_home(1 - owner).pushed_rows(), 0u) << "since it is there";
  EXPECT_EQ(load_of_home(owner).bytes(), 0u);
}

// ---- ssp ----

TEST(MovesTest, TheClocksOfTheSourceGoWithThePartition) {
  v1::JobSpec job = SmallJob(Crowd::kColumns, Crowd::kColumns);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SSP);
    policy->set_staleness(1);
  }
  LocalShards shards(job, 2, 0, {}, /*owners=*/1);
  shards.SetTrainers({1, 2});
  Trainer quick(shards, {.trainer = TrainerId{1}}), slow(shards, {.trainer = TrainerId{2}});
  for (Trainer* trainer : {&quick, &slow}) trainer->Plan(Keys(0, 30));
  const auto push = [](Trainer& trainer, uint64_t clock) {
    return trainer.Push(
        {.clock = clock, .stream = StreamPush{StreamId::Session(clock), 0, {1, 1}, 0}}, -1);
  };
  ASSERT_TRUE(push(quick, 5).status.ok());
  ASSERT_TRUE(push(slow, 4).status.ok());
  TestMove move{AllPartitions(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(quick.Pull({.clock = 5}).status))
      << "the source does not know what the next owner has been pushed";
  shards.Change([&](v1::View& view) { Switch(view, move); });
  quick.SetView(shards.view());
  EXPECT_TRUE(quick.Pull({.clock = 5}).status.ok()) << "4 is the slowest, the bound 1";
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      quick.Pull({.clock = 6, .timeout = absl::Milliseconds(200)}).status));
}

}  // namespace
}  // namespace capstan
