// Partitions that move between real shards while clients push: every push counts once, and what is
// served afterwards is what would have been served without a move.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "absl/time/clock.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::Each;

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

// The crowd pushes while they do, so every delta leaves something to the next one.
TEST(MovesTest, SoItIsWhereTheSourceCatchesUpManyTimes) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  Crowd crowd(shards);
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  for (int i = 0; i < 5; ++i) {
    const absl::Status copied = AwaitCopies(shards, move);
    ASSERT_TRUE(copied.ok()) << copied;
    crowd.AwaitPushes(20);
  }
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  shards.Change([&](v1::View& view) { Switch(view, move); });
  crowd.Tell(shards.view());
  crowd.AwaitPushes(20);
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
    train(5);  // What a delta has to bring,
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    train(5);  // and the rest.
    ASSERT_TRUE(AwaitEnd(shards, move).ok());
    shards.Change([&](v1::View& view) { Switch(view, move); });
    moved.SetView(shards.view());
    train(5);
    ExpectSame(moved, undisturbed);
  }
}

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
