// Partitions that a shard hands over to their backups before it ends: nothing is copied, each push
// counts once, and where the shard ends too early its backups take over as ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/lanes.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

v1::JobSpec HandOverJob() {
  v1::JobSpec job = SmallJob(Crowd::kColumns, Crowd::kColumns);
  job.set_replicas(1);
  return job;
}

// Of all that the shard owns, to the one that backs it up.
TestMove HandOverOf(const LocalShards& shards, int from, int to) {
  TestMove move{.partitions = {}, .from = from, .to = to, .hand_over = true};
  for (int i = 0; i < shards.view().owners_size(); ++i) {
    if (shards.view().owners(i) == static_cast<uint32_t>(from)) {
      move.partitions.push_back(static_cast<uint32_t>(i));
    }
  }
  return move;
}

TEST(HandOverTest, BackupsOwnWhatTheyHaveOnceAllThatTheyWereToldIsThere) {
  LocalShards shards(HandOverJob(), 3);
  Crowd crowd(shards);
  crowd.AwaitPushes(20);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  crowd.AwaitPushes(100);
  TestMove move = HandOverOf(shards, 0, 1);
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  crowd.AwaitPushes(50);
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  const absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards, move, /*finish=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->bytes(), 0u) << "nothing is sent";
  shards.Change([&](v1::View& view) {
    HandOver(view, move);
    DropBackup(view, 0);
  });
  for (const uint32_t partition : move.partitions) {
    EXPECT_FALSE(shards.at(0).shard().partition(static_cast<PartitionIndex>(partition)).loaded());
  }
  shards.Kill(0);
  crowd.Tell(shards.view());
  crowd.AwaitPushes(100);
  crowd.ExpectExact();
}

// As where another shard has come, and gets its share.
TEST(HandOverTest, WhoHandsOverAndStaysBacksUpWhatItHadAndTakesItsPlaceAgain) {
  LocalShards shards(HandOverJob(), 3);
  Crowd crowd(shards);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  crowd.AwaitPushes(50);
  TestMove move = HandOverOf(shards, 0, 1);
  Announce(shards, move);
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  shards.Change([&](v1::View& view) { HandOverAndStay(view, move); });
  crowd.Tell(shards.view());
  for (const uint32_t partition : move.partitions) {
    ps::Partition& stays = shards.at(0).shard().partition(static_cast<PartitionIndex>(partition));
    EXPECT_TRUE(stays.loaded());
    EXPECT_FALSE(stays.serves());
  }
  crowd.AwaitPushes(100);
  EXPECT_THAT(shards.at(0).shard().Report().broken_pairs(), testing::IsEmpty());
  KillAndPromote(shards, 1);
  crowd.Tell(shards.view());
  crowd.AwaitPushes(100);
  crowd.ExpectExact();
}

// As where a pod that is to end is not given the time for it.
TEST(HandOverTest, AShardThatIsKilledMeanwhileIsReplacedByItsBackups) {
  for (const bool stands_still : {false, true}) {
    LocalShards shards(HandOverJob(), 3);
    Crowd crowd(shards);
    ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
    crowd.AwaitPushes(50);
    TestMove move = HandOverOf(shards, 0, 1);
    Announce(shards, move);
    ASSERT_TRUE((stands_still ? AwaitEnd : AwaitCopies)(shards, move).ok());
    if (!stands_still) crowd.AwaitPushes(20);
    KillAndPromote(shards, 0);
    crowd.Tell(shards.view());
    crowd.AwaitPushes(100);
    crowd.ExpectExact();
  }
}

TEST(HandOverTest, WhereItIsGivenUpTheOwnerGoesOnAndTellsItsBackupAsBefore) {
  LocalShards shards(HandOverJob(), 3);
  Crowd crowd(shards);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  TestMove move = HandOverOf(shards, 0, 1);
  Announce(shards, move);
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  shards.Change(Cancel);
  crowd.Tell(shards.view());
  crowd.AwaitPushes(100);
  KillAndPromote(shards, 0);
  crowd.Tell(shards.view());
  crowd.AwaitPushes(50);
  crowd.ExpectExact();
}

TEST(HandOverTest, ABackupThatDoesNotAnswerTakesNothingOver) {
  LocalShards shards(HandOverJob(), 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan({1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  shards.Kill(1);
  PushOptions push;
  push.stream = StreamPush{StreamId::Session(1), 1, {1, 1}, 0};
  push.timeout = absl::Milliseconds(300);
  EXPECT_FALSE(trainer.Push(push, -1).status.ok());
  TestMove move = HandOverOf(shards, 0, 1);
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards, move, /*finish=*/true);
    EXPECT_FALSE(reply.ok() && reply->done()) << "the last push is not on it";
  }
  shards.Change([](v1::View& view) {
    Cancel(view);
    DropBackup(view, 1);
  });
  EXPECT_TRUE(absl::IsAborted(Ask(shards, move, /*finish=*/true).status()));
}

TEST(HandOverTest, RoundsGoOnAtTheNewOwnersBitByBit) {
  for (const int leaver : {0, 1}) {  // Shard 0 coordinates the rounds.
    v1::JobSpec job = SyncJob(Lanes::kLanes);
    LocalShards others(job, 1);
    job.set_replicas(1);
    LocalShards shards(job, 2);
    ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
    Lanes handed(shards), undisturbed(others);
    handed.Train(5);
    undisturbed.Train(5);
    TestMove move = HandOverOf(shards, leaver, 1 - leaver);
    Announce(shards, move);
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    handed.SetView();
    handed.Train(3);
    undisturbed.Train(3);
    handed.Hold();
    ASSERT_TRUE(AwaitEnd(shards, move).ok());
    shards.Change([&](v1::View& view) {
      HandOver(view, move);
      DropBackup(view, leaver);
    });
    handed.SetView();
    shards.Kill(leaver);
    handed.Release();  // The new coordinator knows that the rounds are held.
    handed.Train(40);
    undisturbed.Train(40);
    EXPECT_EQ(handed.Everything(), undisturbed.Everything()) << "shard " << leaver;
  }
}

TEST(HandOverTest, RoundsGoOnAtTheOwnerBeforeWhoseBackupIsLostAgainBitByBit) {
  for (const int owner : {0, 1}) {
    v1::JobSpec job = SyncJob(Lanes::kLanes);
    LocalShards others(job, 1);
    job.set_replicas(1);
    LocalShards shards(job, 2);
    ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
    Lanes handed(shards), undisturbed(others);
    handed.Train(5);
    undisturbed.Train(5);
    TestMove move = HandOverOf(shards, owner, 1 - owner);
    Announce(shards, move);
    ASSERT_TRUE(AwaitCopies(shards, move).ok());
    handed.SetView();
    handed.Hold();
    ASSERT_TRUE(AwaitEnd(shards, move).ok());
    shards.Change([&](v1::View& view) { HandOverAndStay(view, move); });
    handed.SetView();
    handed.Release();
    handed.Train(20);
    undisturbed.Train(20);
    KillAndPromote(shards, 1 - owner);
    handed.SetView();
    handed.Train(20);
    undisturbed.Train(20);
    EXPECT_EQ(handed.Everything(), undisturbed.Everything()) << "shard " << owner;
  }
}

}  // namespace
}  // namespace capstan
