#include "ps/partition/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/rpc/limits.h"
#include "capstan/rpc/status.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr uint64_t kGibibyte = uint64_t{1} << 30;
constexpr std::array<MemoryUse, kMemoryUses> kAllUses = {
    MemoryUse::kWaitingPulls, MemoryUse::kWaitingGradients,
    MemoryUse::kPushPieces,   MemoryUse::kReplies,
    MemoryUse::kMoves,        MemoryUse::kReplicas};

TEST(MemoryLimitTest, EachUseHasAShareOfOneNumber) {
  EXPECT_EQ(MemoryLimit(MemoryUse::kWaitingPulls, kGibibyte), 64 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kWaitingGradients, kGibibyte), 512 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kPushPieces, kGibibyte), 256 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kReplies, kGibibyte), 256 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kMoves, kGibibyte), 256 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kReplicas, kGibibyte), 128 * kMebibyte);
}

TEST(MemoryLimitTest, RepliesAndPullsThatWaitDoNotGrowWithAnyMemory) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(MemoryLimit(MemoryUse::kReplies, kMost), 512 * kMebibyte);
  EXPECT_EQ(MemoryLimit(MemoryUse::kWaitingPulls, kMost), 256 * kMebibyte);
}

TEST(MemoryLimitTest, PullsThatWaitLeaveThePushesMostOfTheTransportsMemory) {
  for (const uint64_t memory : {kMebibyte, kGibibyte, 16 * kGibibyte}) {
    EXPECT_EQ(4 * MemoryLimit(MemoryUse::kWaitingPulls, memory), MessagesLimit(memory)) << memory;
  }
}

TEST(MemoryLimitTest, AReplyOfTheLargestSizeFitsWhereNoOtherIsHeld) {
  for (const uint64_t memory : {uint64_t{0}, kMebibyte, kGibibyte}) {
    EXPECT_GE(MemoryLimit(MemoryUse::kReplies, memory), uint64_t{kMaxMessageBytes}) << memory;
  }
}

TEST(MemoryBudgetTest, NothingIsLimitedUntilItIsKnownHowMuchMemoryThereIs) {
  MemoryBudget memory;
  for (const MemoryUse use : kAllUses) {
    EXPECT_TRUE(memory.Reserve(use, kGibibyte << 10).ok()) << LabelOf(use);
    EXPECT_EQ(memory.of(use).held(), 0u) << LabelOf(use) << ": it is given back at once";
  }
}

TEST(MemoryBudgetTest, EachUseHoldsUpToItsShareAndNoByteMore) {
  MemoryBudget memory;
  memory.SetMemory(kGibibyte);
  for (const MemoryUse use : kAllUses) {
    const size_t share = MemoryLimit(use, kGibibyte);
    EXPECT_EQ(memory.of(use).limit(), share) << LabelOf(use);
    EXPECT_FALSE(memory.Reserve(use, share + 1).ok()) << LabelOf(use);
    const absl::StatusOr<Reservation> all = memory.Reserve(use, share);
    ASSERT_TRUE(all.ok()) << LabelOf(use) << ": " << all.status();
    EXPECT_EQ(memory.of(use).held(), share) << LabelOf(use);
    EXPECT_FALSE(memory.Reserve(use, 1).ok()) << LabelOf(use);
  }
}

TEST(MemoryBudgetTest, AUseThatIsFullTakesNothingFromTheOthers) {
  MemoryBudget memory;
  memory.SetMemory(kGibibyte);
  const Reservation far_too_much = memory.ReserveAnyway(MemoryUse::kPushPieces, 10 * kGibibyte);
  EXPECT_FALSE(memory.Reserve(MemoryUse::kPushPieces, 1).ok());
  for (const MemoryUse use : kAllUses) {
    if (use != MemoryUse::kPushPieces) {
      EXPECT_TRUE(memory.Reserve(use, kMebibyte).ok()) << LabelOf(use);
    }
  }
}

TEST(MemoryBudgetTest, ARefusalNamesTheUseWhatItHoldsAndItsLimitAndSaysWhenToComeAgain) {
  MemoryBudget memory;
  memory.SetMemory(1000);
  const absl::StatusOr<Reservation> held = memory.Reserve(MemoryUse::kMoves, 200);
  const absl::Status refused = memory.Reserve(MemoryUse::kMoves, 51).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "partitions on their way here take 200 bytes of this shard's memory, which may be 250");
  EXPECT_GT(RetryAfter(refused), absl::ZeroDuration());
  EXPECT_EQ(ReasonOf(refused), Rejection::kMemory);
}

TEST(MemoryBudgetTest, WhoWaitsForRoomForGradientsIsToldWhatToChange) {
  MemoryBudget memory;
  memory.SetMemory(10);
  EXPECT_THAT(std::string(memory.Reserve(MemoryUse::kWaitingGradients, 6).status().message()),
              HasSubstr("fewer of them, more shards, or more memory"));
}

TEST(MemoryBudgetTest, WhatOthersWaitForIsLetInAboveTheLimitAndCounts) {
  MemoryBudget memory;
  memory.SetMemory(100);
  Reservation next = memory.ReserveAnyway(MemoryUse::kWaitingGradients, 80);
  EXPECT_EQ(memory.of(MemoryUse::kWaitingGradients).held(), 80u);
  EXPECT_FALSE(memory.Reserve(MemoryUse::kWaitingGradients, 1).ok());
  next.reset();
  EXPECT_TRUE(memory.Reserve(MemoryUse::kWaitingGradients, 50).ok());
}

TEST(MemoryBudgetTest, ItIsCountedByUseHowOftenThereWasNoRoom) {
  MemoryBudget memory;
  memory.SetMemory(100);
  EXPECT_TRUE(memory.Reserve(MemoryUse::kMoves, 25).ok());
  EXPECT_FALSE(memory.Reserve(MemoryUse::kMoves, 26).ok());
  EXPECT_FALSE(memory.Reserve(MemoryUse::kMoves, 26).ok());
  (void)memory.ReserveAnyway(MemoryUse::kPushPieces, 26);
  EXPECT_EQ(memory.refused(MemoryUse::kMoves), 2u);
  EXPECT_EQ(memory.refused(MemoryUse::kPushPieces), 0u);
}

TEST(MemoryBudgetTest, LessMemoryDropsNothingAndLetsNothingMoreIn) {
  MemoryBudget memory;
  memory.SetMemory(100);
  absl::StatusOr<Reservation> held = memory.Reserve(MemoryUse::kPushPieces, 25);
  ASSERT_TRUE(held.ok());
  memory.SetMemory(40);
  EXPECT_EQ(memory.of(MemoryUse::kPushPieces).held(), 25u);
  EXPECT_FALSE(memory.Reserve(MemoryUse::kPushPieces, 1).ok());
  held->reset();
  EXPECT_TRUE(memory.Reserve(MemoryUse::kPushPieces, 10).ok());
}

TEST(MemoryBudgetTest, GradientsThatWaitLeaveRoomForTheParametersAndTheOtherUses) {
  MemoryBudget memory;
  const ByteBudget& waiting = memory.of(MemoryUse::kWaitingGradients);
  memory.LimitWaiting(/*held_bytes=*/0, /*copies=*/1);
  EXPECT_GT(waiting.limit(), kGibibyte << 10) << "it is not known how much memory there is";
  memory.SetMemory(512 * kMebibyte);
  memory.LimitWaiting(/*held_bytes=*/0, /*copies=*/1);
  EXPECT_EQ(waiting.limit(), 256 * kMebibyte) << "what messages and replies leave, too";
  memory.LimitWaiting(/*held_bytes=*/100 * kMebibyte, /*copies=*/1);
  EXPECT_EQ(waiting.limit(), 156 * kMebibyte);
  memory.LimitWaiting(/*held_bytes=*/100 * kMebibyte, /*copies=*/2);
  EXPECT_EQ(waiting.limit(), 78 * kMebibyte);
  const Reservation moved = memory.ReserveAnyway(MemoryUse::kMoves, 50 * kMebibyte);
  memory.LimitWaiting(/*held_bytes=*/100 * kMebibyte, /*copies=*/1);
  EXPECT_EQ(waiting.limit(), 106 * kMebibyte);
  memory.LimitWaiting(/*held_bytes=*/400 * kMebibyte, /*copies=*/1);
  EXPECT_EQ(waiting.limit(), 64 * kMebibyte) << "an eighth at the least";
  EXPECT_EQ(memory.of(MemoryUse::kReplies).limit(), 128 * kMebibyte) << "as before";
}

TEST(MemoryBudgetTest, TheUsesHaveNamesOfTheirOwn) {
  std::set<std::string> labels;
  for (const MemoryUse use : kAllUses) labels.emplace(LabelOf(use));
  EXPECT_EQ(labels.size(), kMemoryUses);
}

// Threads that reserve at once what fits but once into each of two uses.
TEST(MemoryBudgetTest, OfManyThreadsNoMoreHoldThanFitOfEachUse) {
  MemoryBudget memory;
  memory.SetMemory(40);  // 10 of each of these.
  constexpr std::array<MemoryUse, 2> kUses = {MemoryUse::kPushPieces, MemoryUse::kMoves};
  std::array<std::atomic<int>, 2> holders = {};
  std::atomic<bool> too_many{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 10'000; ++i) {
        const size_t which = (t + i) % kUses.size();
        const absl::StatusOr<Reservation> held = memory.Reserve(kUses[which], 6);
        if (!held.ok()) continue;
        if (++holders[which] > 1) too_many = true;
        --holders[which];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(too_many.load());
  for (const MemoryUse use : kAllUses) EXPECT_EQ(memory.of(use).held(), 0u) << LabelOf(use);
}

}  // namespace
}  // namespace capstan::ps
