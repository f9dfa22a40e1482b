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

// All that the shard owns is handed over to the one that backs it up.
TestMove HandOverOf(const LocalShards& shards, int from, int to) {
  return {.partitions = OwnedByShard(shards, from), .from = from, .to = to, .hand_over = true};
}

// Three shards that back each other up, while a crowd pushes.
class HandOverTest : public testing::Test {
 protected:
  // Shard 0 has handed over to shard 1 all that it owns, and stands still: of that the next view
  // is to tell.
  TestMove HandOverFromShard0() {
    EXPECT_TRUE(PairAll(shards_, {0, 1, 2}).ok());
    crowd_.AwaitPushes(50);
    TestMove move = HandOverOf(shards_, 0, 1);
    Announce(shards_, move);
    EXPECT_TRUE(AwaitEnd(shards_, move).ok());
    return move;
  }
  // Everybody goes on by the view as it is.
  void GoOn() {
    crowd_.Tell(shards_.view());
    crowd_.AwaitPushes(100);
  }

  LocalShards shards_{HandOverJob(), 3};
  Crowd crowd_{shards_};
};

TEST_F(HandOverTest, BackupsOwnWhatTheyHaveOnceAllThatTheyWereToldIsThere) {
  crowd_.AwaitPushes(20);
  ASSERT_TRUE(PairAll(shards_, {0, 1, 2}).ok());
  crowd_.AwaitPushes(100);
  TestMove move = HandOverOf(shards_, 0, 1);
  Announce(shards_, move);
  ASSERT_TRUE(AwaitCopies(shards_, move).ok());
  crowd_.AwaitPushes(50);
  ASSERT_TRUE(AwaitEnd(shards_, move).ok());
  const absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards_, move, /*finish=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->bytes(), 0u) << "nothing is sent";
  shards_.Change([&](v1::View& view) {
    HandOver(view, move);
    DropBackup(view, 0);
  });
  for (const uint32_t partition : move.partitions) {
    EXPECT_FALSE(
        shards_.at(0).shard().partitions()[static_cast<PartitionIndex>(partition)].loaded());
  }
  shards_.Kill(0);
  GoOn();
  crowd_.ExpectExact();
}

// As where another shard has come, and gets its share.
TEST_F(HandOverTest, WhoHandsOverAndStaysBacksUpWhatItHadAndTakesItsPlaceAgain) {
  const TestMove move = HandOverFromShard0();
  shards_.Change([&](v1::View& view) { HandOverAndStay(view, move); });
  crowd_.Tell(shards_.view());
  for (const uint32_t partition : move.partitions) {
    ps::Partition& stays =
        shards_.at(0).shard().partitions()[static_cast<PartitionIndex>(partition)];
    EXPECT_TRUE(stays.loaded());
    EXPECT_FALSE(stays.serves());
  }
  crowd_.AwaitPushes(100);
  EXPECT_THAT(shards_.at(0).Report().broken_pairs(), testing::IsEmpty());
  KillAndPromote(shards_, 1);
  GoOn();
  crowd_.ExpectExact();
}

// The chief orders a hand-over whose view it has not published yet when the new owner is lost: the
// next view is the first that the owner before hears.
TEST_F(HandOverTest, AnOwnerThatHearsOfNothingBeforeItsNewOwnerIsLostServesAgain) {
  const TestMove move = HandOverFromShard0();
  shards_.ChangeFor({1, 2}, [&](v1::View& view) { HandOverAndStay(view, move); });
  KillAndPromote(shards_, 1);
  GoOn();
  EXPECT_EQ(shards_.at(0).shard().backups().CheckOwned(), absl::OkStatus());
  crowd_.ExpectExact();
}

TEST_F(HandOverTest, AnOwnerThatHearsOfNothingBeforeItIsGivenBackServesAgainWithTheOtherAsBackup) {
  const TestMove move = HandOverFromShard0();
  shards_.ChangeFor({1, 2}, [&](v1::View& view) { HandOverAndStay(view, move); });
  TestMove back{.partitions = move.partitions, .from = 1, .to = 0, .hand_over = true};
  AnnounceTo({1, 2}, shards_, back);
  ASSERT_TRUE(AwaitEnd(shards_, back).ok());
  shards_.Change([&](v1::View& view) { HandOverAndStay(view, back); });
  GoOn();
  EXPECT_THAT(shards_.at(1).Report().broken_pairs(), testing::IsEmpty());
  KillAndPromote(shards_, 0);
  GoOn();
  crowd_.ExpectExact();
}

// As where a pod that is to end is not given the time for it.
TEST_F(HandOverTest, AShardThatIsKilledOnceItStandsStillIsReplacedByItsBackups) {
  (void)HandOverFromShard0();
  KillAndPromote(shards_, 0);
  GoOn();
  crowd_.ExpectExact();
}

TEST_F(HandOverTest, AShardThatIsKilledBeforeItStandsStillIsReplacedByItsBackups) {
  ASSERT_TRUE(PairAll(shards_, {0, 1, 2}).ok());
  crowd_.AwaitPushes(50);
  TestMove move = HandOverOf(shards_, 0, 1);
  Announce(shards_, move);
  ASSERT_TRUE(AwaitCopies(shards_, move).ok());
  crowd_.AwaitPushes(20);
  KillAndPromote(shards_, 0);
  GoOn();
  crowd_.ExpectExact();
}

TEST_F(HandOverTest, WhereItIsGivenUpTheOwnerGoesOnAndTellsItsBackupAsBefore) {
  (void)HandOverFromShard0();
  shards_.Change(Cancel);
  GoOn();
  KillAndPromote(shards_, 0);
  GoOn();
  crowd_.ExpectExact();
}

TEST(TwoShardsHandOverTest, ABackupThatDoesNotAnswerTakesNothingOver) {
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

// Two shards that back each other up, and another one that nobody disturbs, train the same rounds.
class HandedRoundsTest : public testing::TestWithParam<int> {
 protected:
  static v1::JobSpec JobOf(uint32_t replicas) {
    v1::JobSpec job = SyncJob(Lanes::kLanes);
    job.set_replicas(replicas);
    return job;
  }

  void Train(int rounds) {
    handed_.Train(rounds);
    undisturbed_.Train(rounds);
  }
  // All that the shard owns is handed over when the rounds are held next.
  void Order() {
    ASSERT_TRUE(PairAll(shards_, {0, 1}).ok());
    Train(5);
    move_ = HandOverOf(shards_, owner_, other_);
    Announce(shards_, move_);
    ASSERT_TRUE(AwaitCopies(shards_, move_).ok());
    handed_.SetView();
    Train(3);
    handed_.Hold();
    ASSERT_TRUE(AwaitEnd(shards_, move_).ok());
  }

  const int owner_ = GetParam();  // Shard 0 coordinates the rounds.
  const int other_ = 1 - owner_;
  LocalShards others_{JobOf(0), 1};
  LocalShards shards_{JobOf(1), 2};
  Lanes handed_{shards_};
  Lanes undisturbed_{others_};
  TestMove move_;
};

TEST_P(HandedRoundsTest, GoOnAtTheNewOwnersBitByBit) {
  Order();
  shards_.Change([&](v1::View& view) {
    HandOver(view, move_);
    DropBackup(view, owner_);
  });
  handed_.SetView();
  shards_.Kill(owner_);
  handed_.Release();  // The new coordinator knows that the rounds are held.
  Train(40);
  EXPECT_EQ(handed_.Everything(), undisturbed_.Everything());
}

TEST_P(HandedRoundsTest, GoOnAtTheOwnerBeforeWhenTheNewOneIsLostBitByBit) {
  Order();
  shards_.Change([&](v1::View& view) { HandOverAndStay(view, move_); });
  handed_.SetView();
  handed_.Release();
  Train(20);
  KillAndPromote(shards_, other_);
  handed_.SetView();
  Train(20);
  EXPECT_EQ(handed_.Everything(), undisturbed_.Everything());
}

TEST_P(HandedRoundsTest, GoOnAtTheOwnerBeforeAlsoWhereItHasHeardOfNothingBitByBit) {
  Order();
  shards_.ChangeFor({other_}, [&](v1::View& view) { HandOverAndStay(view, move_); });
  KillAndPromote(shards_, other_);
  handed_.SetView();
  handed_.Release();
  Train(40);
  EXPECT_EQ(handed_.Everything(), undisturbed_.Everything());
}

INSTANTIATE_TEST_SUITE_P(Shards, HandedRoundsTest, testing::Values(0, 1));

}  // namespace
}  // namespace capstan
