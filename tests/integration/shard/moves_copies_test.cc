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
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

TEST(MovesCopiesTest, ARateBoundsWhatCopiesTakeOfTheNetwork) {
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

TEST(MovesCopiesTest, NoRateHoldsUpTheRestForWhichPushesWait) {
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

TEST(MovesCopiesTest, SavesAndMovesRefuseEachOther) {
  LocalShards shards(SmallJob(Crowd::kColumns, Crowd::kColumns), 2);
  const TestFolder folder;
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
