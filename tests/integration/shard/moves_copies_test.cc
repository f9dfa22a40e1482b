// What the copies of a move may take: of the network no more than their rate, and no turn while a
// save copies.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

TEST(MovesCopiesTest, ARateBoundsWhatCopiesTakeOfTheNetwork) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  v1::MovePartitionsRequest order = OrderOf(shards, move);
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

TEST(MovesCopiesTest, ARateHoldsUpWhatIsSentMeanwhileButNotTheRestForWhichPushesWait) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  Trainer trainer(shards);
  trainer.Plan({});
  TestMove move{{FirstHalf().front()}, 0, 1};
  Announce(shards, move);
  v1::MovePartitionsRequest order = OrderOf(shards, move);
  order.set_bytes_per_second(256 << 10);
  const auto await = [&](bool finish) {
    const absl::Time begun = absl::Now();
    order.set_finish(finish);
    absl::StatusOr<v1::MovePartitionsReply> reply;
    do {
      absl::SleepFor(absl::Milliseconds(5));
      reply = shards.at(0).mover().Order(order);
    } while (reply.ok() && !(finish ? reply->done() : reply->copied()));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return absl::Now() - begun;
  };
  EXPECT_GT(await(false), absl::Seconds(1.5)) << "a delta goes when the copy has had its two";
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  await(false);  // All has changed, and is sent: another two seconds are booked.
  ASSERT_TRUE(trainer.Push(1, -1).status.ok());
  EXPECT_LT(await(true), absl::Seconds(1.5));
}

TEST(MovesCopiesTest, WhatHasBeenCopiedCatchesUpWhenItIsAskedAgain) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  Trainer trainer(shards);
  trainer.Plan({});
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  const uint64_t copied = 4u * (512 << 10);
  absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards, move, /*finish=*/false);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->copied()) << "all has changed since";
  EXPECT_LT(reply->bytes(), 2 * copied);
  ASSERT_TRUE(AwaitCopies(shards, move).ok());
  reply = Ask(shards, move, /*finish=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GE(reply->bytes(), 2 * copied) << "and all has been sent before it stands still";
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  reply = Ask(shards, move, /*finish=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_LT(reply->bytes(), 2 * copied + (64 << 10)) << "so little is left";
}

TEST(MovesCopiesTest, NoPartitionOfASourceStandsStillBeforeAllAreCopied) {
  LocalShards shards(SmallJob(0, 1 << 20), 2);  // 512 KiB a partition.
  Trainer trainer(shards);
  trainer.Plan({});
  TestMove move{FirstHalf(), 0, 1};
  Announce(shards, move);
  v1::MovePartitionsRequest order = OrderOf(shards, move);
  order.set_bytes_per_second(2 << 20);
  order.set_finish(true);
  uint64_t seq = 0;
  absl::StatusOr<v1::MovePartitionsReply> reply;
  do {
    const PushResult pushed = trainer.Push(seq++, -1);
    reply = shards.at(0).mover().Order(order);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const uint32_t busy = pushed.count(v1::OUTCOME_BUSY);
    EXPECT_TRUE(reply->copied() || busy == 0) << busy << " stand still";
    absl::SleepFor(absl::Milliseconds(20));
  } while (!reply->copied());
  EXPECT_GT(seq, 10u) << "the copies of the last ones took a while";
  ASSERT_TRUE(AwaitEnd(shards, move).ok());
  EXPECT_GT(trainer.Push(seq, -1).count(v1::OUTCOME_BUSY), 0u);
}

TEST(MovesCopiesTest, SavesAndMovesRefuseEachOther) {
  const TestFolder folder;  // The shards end before it: one is still saving.
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  v1::SavePartitionsRequest save;
  save.mutable_header()->set_timeline(1);
  save.set_uri(absl::StrCat("file://", folder.path()));
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

}  // namespace
}  // namespace capstan
