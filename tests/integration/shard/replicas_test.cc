// Partitions with a backup on another real shard: what is acknowledged is on both, and where one
// dies the other one goes on with the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capstan/placement/placement.h"
#include "capstan/rpc/limits.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/lanes.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/runner.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

v1::JobSpec Replicated(v1::JobSpec job) {
  job.set_replicas(1);
  return job;
}

v1::JobSpec ReplicatedJob() { return Replicated(SmallJob(Crowd::kColumns, Crowd::kColumns)); }

TEST(ReplicasTest, WhatIsAcknowledgedIsNotLostWithItsOwner) {
  for (const int victim : {0, 1, 2}) {
    LocalShards shards(ReplicatedJob(), 3);
    Crowd crowd(shards);
    crowd.AwaitPushes(20);
    ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
    crowd.AwaitPushes(100);
    KillAndPromote(shards, victim);
    crowd.Tell(shards.view());
    crowd.AwaitPushes(100);
    crowd.ExpectExact();
  }
}

TEST(ReplicasTest, TwoFailuresOneAfterTheOtherAreSurvived) {
  LocalShards shards(ReplicatedJob(), 3);
  Crowd crowd(shards);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  crowd.AwaitPushes(50);
  shards.Kill(0);
  shards.Change([](v1::View& view) {
    DropBackup(view, 0);
    Promote(view, 0);
    view.clear_pairs();
  });
  crowd.Tell(shards.view());
  crowd.AwaitPushes(50);
  ASSERT_TRUE(PairAll(shards, {1, 2}).ok());
  crowd.AwaitPushes(50);
  KillAndPromote(shards, 1);
  crowd.Tell(shards.view());
  crowd.AwaitPushes(50);
  crowd.ExpectExact();
}

// Of calls that are not to succeed.
constexpr absl::Duration kHaste = absl::Milliseconds(300);

PushOptions Hasty(PushOptions push) {
  push.timeout = kHaste;
  return push;
}

// Rule 18: only a view drops a backup.
// A shard comes to take a backup's place; the owner dies while the copy is on its way, or later.
TEST(ReplicasTest, ABackupThatIsReplacedIsOneUntilTheNextOneIs) {
  for (const bool switched : {false, true}) {
    LocalShards shards(ReplicatedJob(), 3);
    Crowd crowd(shards);
    ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
    TestMove move{.partitions = {}, .from = 0, .to = 2, .replica = true};
    for (int i = 0; i < shards.view().owners_size(); ++i) {
      if (shards.view().owners(i) == 0) move.partitions.push_back(static_cast<uint32_t>(i));
    }
    Announce(shards, move);
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    crowd.AwaitPushes(50);
    if (switched) {
      ASSERT_TRUE(AwaitEnd(shards, move).ok());
      shards.Change([&](v1::View& view) { Pair(view, move); });
      crowd.AwaitPushes(50);
    }
    KillAndPromote(shards, 0);
    EXPECT_EQ(shards.view().owners(static_cast<int>(move.partitions[0])), switched ? 2u : 1u);
    crowd.Tell(shards.view());
    crowd.AwaitPushes(100);
    crowd.ExpectExact();
  }
}

TEST(ReplicasTest, APushThatIsLargerThanAMessageGoesToTheBackupInPieces) {
  constexpr uint32_t kFloats = 20'000'000;
  static_assert(kFloats * sizeof(float) > kMaxMessageBytes);
  v1::JobSpec job = Replicated(SmallJob(/*dim=*/3, kFloats));
  job.set_partition_count(1);
  LocalShards shards(job, 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 5));
  for (const uint64_t seq : {0, 1}) {
    PushOptions push;
    push.stream = StreamPush{StreamId::Session(1), seq, {1, 1}, 0};
    push.timeout = absl::Seconds(60);  // Where sanitizers slow it down.
    const PushResult pushed = trainer.Push(push, -1);
    ASSERT_TRUE(pushed.status.ok()) << pushed.status;
  }
  EXPECT_EQ(shards.at(1).shard().memory().of(MemoryUse::kPushPieces).held(), 0u);
  KillAndPromote(shards, 0);
  trainer.SetView(shards.view());
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_TRUE(trainer.dense == std::vector<float>(kFloats, 2));
  EXPECT_THAT(trainer.rows, Each(2));
}

TEST(ReplicasTest, WithoutItsBackupAnOwnerAcknowledgesNothingUntilAViewSaysThatItIsAlone) {
  LocalShards shards(ReplicatedJob(), 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 20));
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  shards.Kill(1);
  shards.Change([](v1::View& view) { Promote(view, 1); });
  trainer.SetView(shards.view());
  PushOptions push;
  push.stream = StreamPush{StreamId::Session(1), 1, {1, 1}, 0};
  const PushResult waits = trainer.Push(Hasty(push), -1);
  EXPECT_FALSE(waits.status.ok()) << "its backup is gone, which no view has said";
  shards.Change([](v1::View& view) { DropBackup(view, 1); });
  const PushResult again = trainer.Push(push, -1);
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_GT(again.count(v1::OUTCOME_SETTLED), 0u) << "the push before had been carried out";
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_THAT(trainer.rows, Each(2));
}

// Rule 31.
TEST(ReplicasTest, AnOwnerThatWasGivenUpAcknowledgesNothingMore) {
  LocalShards shards(ReplicatedJob(), 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer old(shards), present(shards);
  old.Plan(Keys(0, 20));
  present.Plan(Keys(0, 20));
  ASSERT_TRUE(old.Push(0, -1).status.ok());
  shards.ChangeFor({1}, [](v1::View& view) {
    DropBackup(view, 0);
    Promote(view, 0);
  });
  present.SetView(shards.view());
  PushOptions push;
  push.stream = StreamPush{StreamId::Session(1), 1, {1, 1}, 0};
  EXPECT_FALSE(old.Push(Hasty(push), -1).status.ok()) << "its backup is the owner now";
  ASSERT_TRUE(present.Push(push, -1).status.ok());
  shards.Change([](v1::View&) {});  // The old owner hears of it, too.
  ASSERT_TRUE(present.Pull().status.ok());
  EXPECT_THAT(present.rows, Each(2)) << "once each";
  EXPECT_FALSE(old.Pull().status.ok()) << "it has nothing any more";
}

TEST(ReplicasTest, WithoutALeaseNoPullIsAnswered) {
  v1::JobSpec job = ReplicatedJob();
  LocalShards shards(job, 1);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 5));
  EXPECT_TRUE(trainer.Pull().status.ok());
  LocalShard alone(job, 0, {.listen = "127.0.0.1:0"});  // Nobody has given it one.
  v1::View view = shards.view();
  *view.mutable_shards(0) = LocalShards::InfoOf(0, alone.port());
  view.mutable_epoch()->set_n(view.epoch().n() + 1);
  ASSERT_TRUE(alone.shard().contents().BeginLoad(1).ok());
  Threads threads;
  ASSERT_TRUE(ps::LoadJob(alone.shard(), shards.LoadOrder(0), {.background = threads}).Run().ok());
  alone.SetView(view);
  trainer.SetView(view);
  const absl::Status refused = trainer.Pull().status;
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("has not heard from the chief for its lease"));
  alone.shard().view().SetLease(alone.shard().clock().Now() + absl::Minutes(1));
  EXPECT_TRUE(trainer.Pull().status.ok());
}

TEST(ReplicasTest, AShardThatLacksWhatAViewGivesToItSaysSo) {
  LocalShards shards(ReplicatedJob(), 2);
  v1::View view = shards.view();
  view.mutable_epoch()->set_n(view.epoch().n() + 1);
  view.set_owners(0, 1);
  v1::PartitionCopy& copy = *view.add_copies();
  copy.set_partition(0);
  copy.mutable_move()->set_term(1);
  copy.mutable_move()->set_n(77);
  ASSERT_TRUE(shards.at(1).shard().SetView(view).ok());
  const absl::Status lacking = shards.at(1).shard().backups().CheckOwned();
  EXPECT_TRUE(absl::IsDataLoss(lacking)) << lacking;
}

// ---- every policy: bits ----

struct Policy {
  const char* name;
  std::function<void(v1::JobSpec&)> set;
};

void Aggregate(v1::JobSpec& job) {
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_aggregate(3);
  }
}

void DropStale(v1::JobSpec& job) {
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
    policy->set_drop_above(1);
  }
}

void Adam(v1::JobSpec& job) {
  for (v1::OptimizerSpec* optimizer :
       {job.mutable_tables(0)->mutable_optimizer(), job.mutable_tensors(0)->mutable_optimizer()}) {
    optimizer->set_kind(v1::OPTIMIZER_KIND_ADAM);
    optimizer->set_learning_rate(.01f);
    optimizer->set_beta1(.9f);
    optimizer->set_beta2(.999f);
    optimizer->set_epsilon(1e-8f);
  }
}

class ReplicaPolicies : public testing::TestWithParam<Policy> {};

TEST_P(ReplicaPolicies, ABackupGoesOnWithTheSameBits) {
  v1::JobSpec job = ReplicatedJob();
  GetParam().set(job);
  LocalShards shards(job, 3), others(job, 3);
  Trainer replicated(shards), undisturbed(others);
  const auto train = [&](uint64_t first, uint64_t last) {
    for (uint64_t step = first; step < last; ++step) {
      for (Trainer* trainer : {&replicated, &undisturbed}) {
        trainer->Plan(Keys(step % 7, 20 + step % 5));
        if (step % 3 == 0) {
          ASSERT_TRUE(trainer->Pull().status.ok());
        }
        const PushResult pushed = trainer->Push(step, .5f + static_cast<float>(step % 3));
        ASSERT_TRUE(pushed.status.ok()) << pushed.status;
      }
    }
  };
  // A copy is taken of what queues have been applied to.
  const auto flush_others = [&others] {
    ps::ReplicaWait nobody;
    for (int shard = 0; shard < others.size(); ++shard)
      (void)others.at(shard).shard().Flush(nobody);
  };
  train(0, 10);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  flush_others();
  train(10, 30);
  for (const int victim : {0, 1}) {
    shards.Kill(victim);
    shards.Change([victim](v1::View& view) {
      DropBackup(view, victim);
      Promote(view, victim);
      view.clear_pairs();
    });
    replicated.SetView(shards.view());
    train(30 + 20 * static_cast<uint64_t>(victim), 50 + 20 * static_cast<uint64_t>(victim));
    if (victim == 0) {
      ASSERT_TRUE(PairAll(shards, {1, 2}).ok());
      flush_others();
    }
  }
  for (LocalShards* all : {&shards, &others}) {
    for (int shard = 0; shard < all->size(); ++shard) {
      ps::ReplicaWait nobody;
      if (all->lives(shard)) (void)all->at(shard).shard().Flush(nobody);
    }
  }
  for (Trainer* trainer : {&replicated, &undisturbed}) {
    trainer->Plan(Keys(0, 40));
    ASSERT_TRUE(trainer->Pull().status.ok());
  }
  EXPECT_EQ(replicated.rows, undisturbed.rows) << "bit by bit";
  EXPECT_EQ(replicated.dense, undisturbed.dense);
  EXPECT_EQ(replicated.versions, undisturbed.versions);
}

INSTANTIATE_TEST_SUITE_P(All, ReplicaPolicies,
                         testing::Values(Policy{"Async", Adam}, Policy{"Aggregate", Aggregate},
                                         Policy{"DropStale", DropStale}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- rounds ----

constexpr int kLanes = Lanes::kLanes;

class ReplicaRounds : public testing::TestWithParam<int> {};

TEST_P(ReplicaRounds, GoOnAtTheBackupsInTheMiddleOfARoundBitByBit) {
  const int victim = GetParam();
  LocalShards shards(Replicated(SyncJob(kLanes)), 3), others(SyncJob(kLanes), 1);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  Lanes replicated(shards), undisturbed(others);
  replicated.Train(5);
  undisturbed.Train(5);
  // One lane is in, and counted; the other has staged.
  for (Lanes* lanes : {&replicated, &undisturbed}) {
    Runner& first = (*lanes)[0];
    Runner& second = (*lanes)[1];
    ASSERT_EQ(first.Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    ASSERT_EQ(second.Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    ASSERT_TRUE(first.Pull().status.ok());
    ASSERT_TRUE(first.Stage(.25f, 1).status.ok());
    ASSERT_EQ(first.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
    ASSERT_TRUE(second.Pull().status.ok());
    ASSERT_TRUE(second.Stage(-.75f, 1).status.ok());
  }
  KillAndPromote(shards, victim);
  replicated.SetView();
  for (Lanes* lanes : {&replicated, &undisturbed}) {
    EXPECT_EQ((*lanes)[0].Report(), v1::ReportLaneReply::ANSWER_COUNTED) << "it is known";
    EXPECT_EQ((*lanes)[1].Report(), v1::ReportLaneReply::ANSWER_COUNTED);
  }
  replicated.Train(40);  // More rounds than a log keeps.
  undisturbed.Train(40);
  EXPECT_EQ(replicated.Everything(), undisturbed.Everything());
}

INSTANTIATE_TEST_SUITE_P(Victims, ReplicaRounds, testing::Values(0, 1, 2));

TEST(ReplicaRounds, AShardThatOnlyBacksUpHearsOfEveryRound) {
  LocalShards shards(Replicated(SyncJob(kLanes)), 2, 0, {}, /*owners=*/1),
      others(SyncJob(kLanes), 1);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Lanes replicated(shards), undisturbed(others);
  replicated.Train(60);
  undisturbed.Train(60);
  shards.Kill(0);
  shards.Change([](v1::View& view) { Promote(view, 0); });
  replicated.SetView();
  replicated.Train(5);
  undisturbed.Train(5);
  EXPECT_EQ(replicated.Everything(), undisturbed.Everything());
}

}  // namespace
}  // namespace capstan
