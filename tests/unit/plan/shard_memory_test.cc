#include "capstan/plan/shard_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

namespace capstan {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

uint64_t ShardPartOf(const ProcessMemory& memory, std::string_view what) {
  for (const MemoryPart& part : memory.parts) {
    if (part.what == what) return part.bytes;
  }
  return 0;
}

constexpr std::string_view kWaiting = "gradients that wait, at most";

// A hundred lanes of 102 MB on ten shards, of which thirty push and pull at the same time.
ShardNeeds NeedsOfAHundredLanes() {
  ShardNeeds needs;
  needs.dense = 10 * kMebibyte;
  needs.round_sum = 10 * kMebibyte;
  needs.images = 10 * kMebibyte;
  needs.process = 34 * kMebibyte;
  needs.clients = 30;
  needs.pushed = 4 * kMebibyte;
  needs.pulled = 4 * kMebibyte;
  needs.waiting = 990 * kMebibyte;
  return needs;
}

TEST(ShardMemoryTest, GradientsThatWaitForTheirTurnGetWhatIsLeft) {
  const ShardNeeds needs = NeedsOfAHundredLanes();
  // 64 MiB are surely held, and messages and replies may take 96 MiB each.
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 384 * kMebibyte), kWaiting), 128 * kMebibyte);
  EXPECT_EQ(ShardMemoryIn(needs, 384 * kMebibyte).bytes(), 384 * kMebibyte);
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 1024 * kMebibyte), kWaiting), 448 * kMebibyte);
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 8192 * kMebibyte), kWaiting), 990 * kMebibyte);
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 128 * kMebibyte), kWaiting), 16 * kMebibyte)
      << "an eighth, though nothing is left";
}

TEST(ShardMemoryTest, TheLeastMemoryHoldsWhatNobodyTurnsAwayAndAnEighthForGradients) {
  // 64 MiB are surely held, messages and replies may take 64 MiB each: 192 of 220.
  EXPECT_EQ(LeastShardMemory(NeedsOfAHundredLanes()), 220 * kMebibyte);
  ShardNeeds small;
  small.dense = kMebibyte + 1;
  EXPECT_EQ(LeastShardMemory(small), 2 * kMebibyte) << "whole MiB";
}

TEST(ShardMemoryTest, GradientsThatARoundNeedsAreSurelyHeldInHalfOfTheMemory) {
  ShardNeeds needs;
  needs.dense = 10 * kMebibyte;
  needs.waiting = 40 * kMebibyte;
  needs.waiting_is_needed = true;
  EXPECT_EQ(LeastShardMemory(needs), 80 * kMebibyte) << "40 MiB are half of it";
  needs.dense = 60 * kMebibyte;
  EXPECT_EQ(LeastShardMemory(needs), 100 * kMebibyte);
}

TEST(ShardMemoryTest, WithReplicasGradientsOfBackupsWaitAsWell) {
  ShardNeeds needs = NeedsOfAHundredLanes();
  const uint64_t once = WaitingLimitIn(needs, 384 * kMebibyte);
  needs.copies = 2;
  EXPECT_EQ(WaitingLimitIn(needs, 384 * kMebibyte), once / 2);
  EXPECT_EQ(ShardMemoryIn(needs, 384 * kMebibyte).bytes(), 384 * kMebibyte);
}

TEST(ShardMemoryTest, WithReplicasALargePushIsKeptForItsBackupAndOneComesAsACopy) {
  ShardNeeds needs;
  needs.clients = 1;
  needs.push_in_pieces = 100 * kMebibyte;
  constexpr std::string_view kPieces = "pushes that come in pieces, at most";
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 1024 * kMebibyte), kPieces), 100 * kMebibyte);
  needs.copies = 2;
  EXPECT_EQ(ShardPartOf(ShardMemoryIn(needs, 1024 * kMebibyte), kPieces), 300 * kMebibyte);
}

// Needs of all sizes, from none to some hundred MiB of each kind.
ShardNeeds DrawnNeeds(std::mt19937_64& draw) {
  const auto bytes = [&draw] {
    return draw() % 2 == 0 ? 0 : draw() % (uint64_t{1} << draw() % 29);
  };
  ShardNeeds needs;
  for (uint64_t* part :
       {&needs.dense, &needs.rows, &needs.backups, &needs.round_sum, &needs.images, &needs.read,
        &needs.process, &needs.pushed, &needs.pulled, &needs.push_in_pieces, &needs.waiting}) {
    *part = bytes();
  }
  needs.clients = draw() % 1000;
  needs.copies = 1 + draw() % 2;
  needs.waiting_is_needed = draw() % 3 == 0;
  return needs;
}

TEST(ShardMemoryTest, WithTheLeastMemoryAndWithAnyMoreAShardStaysWithinIt) {
  std::mt19937_64 draw(1);
  for (int round = 0; round < 2000; ++round) {
    const ShardNeeds needs = DrawnNeeds(draw);
    const uint64_t least = LeastShardMemory(needs);
    ASSERT_LT(least, uint64_t{1} << 45) << round;
    for (int i = 0; i < 20; ++i) {
      const uint64_t memory = i == 0 ? least : least + draw() % (uint64_t{1} << draw() % 36);
      ASSERT_LE(ShardMemoryIn(needs, memory).bytes(), memory) << round;
      if (needs.waiting_is_needed) {
        ASSERT_LE(needs.copies * needs.waiting, WaitingLimitIn(needs, memory)) << round;
      }
    }
    if (least <= kMebibyte || needs.waiting_is_needed) continue;
    ASSERT_GT(ShardMemoryIn(needs, least - kMebibyte).bytes(), least - kMebibyte)
        << round << ": it is the least";
  }
}

}  // namespace
}  // namespace capstan
