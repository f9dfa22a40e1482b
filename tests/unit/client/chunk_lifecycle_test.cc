#include "capstan/client/chunk_lifecycle.h"

#include <gtest/gtest.h>

#include <optional>

namespace capstan {
namespace {

TEST(ChunkLifecycleTest, SendsAFewChunksAtATime) {
  ChunkLifecycle lifecycle(3, /*tells_clock=*/false);
  EXPECT_EQ(lifecycle.Next(/*in_flight=*/2), 0u);
  EXPECT_EQ(lifecycle.Next(/*in_flight=*/2), 1u);
  EXPECT_EQ(lifecycle.Next(/*in_flight=*/2), std::nullopt);
  lifecycle.Answered(/*settled=*/true);
  EXPECT_EQ(lifecycle.Next(/*in_flight=*/2), 2u);
  lifecycle.Answered(/*settled=*/true);
  EXPECT_EQ(lifecycle.Next(/*in_flight=*/2), std::nullopt);
}

TEST(ChunkLifecycleTest, APushOfOneChunkTellsTheClockWithIt) {
  ChunkLifecycle lifecycle(1, /*tells_clock=*/true);
  EXPECT_EQ(lifecycle.Next(4), 0u);
  EXPECT_TRUE(lifecycle.LastTellsClock());
}

TEST(ChunkLifecycleTest, TheLastChunkTellsTheClockWhenAllOthersHaveBeenAnswered) {
  ChunkLifecycle lifecycle(3, /*tells_clock=*/true);
  EXPECT_EQ(lifecycle.Next(4), 0u);
  EXPECT_FALSE(lifecycle.LastTellsClock());
  EXPECT_EQ(lifecycle.Next(4), 1u);
  EXPECT_FALSE(lifecycle.LastTellsClock());
  EXPECT_EQ(lifecycle.Next(4), std::nullopt);
  lifecycle.Answered(/*settled=*/true);
  EXPECT_EQ(lifecycle.Next(4), std::nullopt) << "the other one is still under way";
  lifecycle.Answered(/*settled=*/true);
  EXPECT_EQ(lifecycle.Next(4), 2u);
  EXPECT_TRUE(lifecycle.LastTellsClock());
}

TEST(ChunkLifecycleTest, NoClockIsToldWhenAPartOfTheStepHasToComeAgain) {
  ChunkLifecycle lifecycle(2, /*tells_clock=*/true);
  EXPECT_EQ(lifecycle.Next(4), 0u);
  lifecycle.Answered(/*settled=*/false);
  EXPECT_EQ(lifecycle.Next(4), 1u);
  EXPECT_FALSE(lifecycle.LastTellsClock());
}

TEST(ChunkLifecycleTest, ARequestThatTellsNoClockWaitsForNothing) {
  ChunkLifecycle lifecycle(2, /*tells_clock=*/false);
  EXPECT_EQ(lifecycle.Next(4), 0u);
  EXPECT_EQ(lifecycle.Next(4), 1u);
  EXPECT_FALSE(lifecycle.LastTellsClock());
}

TEST(ChunkLifecycleTest, SendsNothingMoreAfterAFailure) {
  ChunkLifecycle lifecycle(3, /*tells_clock=*/true);
  EXPECT_EQ(lifecycle.Next(4), 0u);
  lifecycle.Answered(/*settled=*/false);
  lifecycle.Stop();
  EXPECT_EQ(lifecycle.Next(4), std::nullopt);
}

}  // namespace
}  // namespace capstan
