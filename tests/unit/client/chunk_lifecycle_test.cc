#include "capstan/client/chunk_lifecycle.h"

#include <gtest/gtest.h>

#include <optional>

namespace capstan {
namespace {

TEST(ChunkLifecycleTest, SendsAFewChunksAtATime) {
  ChunkLifecycle course(3, /*tells_clock=*/false);
  EXPECT_EQ(course.Next(/*in_flight=*/2), 0u);
  EXPECT_EQ(course.Next(/*in_flight=*/2), 1u);
  EXPECT_EQ(course.Next(/*in_flight=*/2), std::nullopt);
  course.Answered(/*settled=*/true);
  EXPECT_EQ(course.Next(/*in_flight=*/2), 2u);
  course.Answered(/*settled=*/true);
  EXPECT_EQ(course.Next(/*in_flight=*/2), std::nullopt);
}

TEST(ChunkLifecycleTest, APushOfOneChunkTellsTheClockWithIt) {
  ChunkLifecycle course(1, /*tells_clock=*/true);
  EXPECT_EQ(course.Next(4), 0u);
  EXPECT_TRUE(course.LastTellsClock());
}

TEST(ChunkLifecycleTest, TheLastChunkTellsTheClockWhenAllOthersHaveBeenAnswered) {
  ChunkLifecycle course(3, /*tells_clock=*/true);
  EXPECT_EQ(course.Next(4), 0u);
  EXPECT_FALSE(course.LastTellsClock());
  EXPECT_EQ(course.Next(4), 1u);
  EXPECT_FALSE(course.LastTellsClock());
  EXPECT_EQ(course.Next(4), std::nullopt);
  course.Answered(/*settled=*/true);
  EXPECT_EQ(course.Next(4), std::nullopt) << "the other one is still under way";
  course.Answered(/*settled=*/true);
  EXPECT_EQ(course.Next(4), 2u);
  EXPECT_TRUE(course.LastTellsClock());
}

TEST(ChunkLifecycleTest, NoClockIsToldWhenAPartOfTheStepHasToComeAgain) {
  ChunkLifecycle course(2, /*tells_clock=*/true);
  EXPECT_EQ(course.Next(4), 0u);
  course.Answered(/*settled=*/false);
  EXPECT_EQ(course.Next(4), 1u);
  EXPECT_FALSE(course.LastTellsClock());
}

TEST(ChunkLifecycleTest, ARequestThatTellsNoClockWaitsForNothing) {
  ChunkLifecycle course(2, /*tells_clock=*/false);
  EXPECT_EQ(course.Next(4), 0u);
  EXPECT_EQ(course.Next(4), 1u);
  EXPECT_FALSE(course.LastTellsClock());
}

TEST(ChunkLifecycleTest, SendsNothingMoreAfterAFailure) {
  ChunkLifecycle course(3, /*tells_clock=*/true);
  EXPECT_EQ(course.Next(4), 0u);
  course.Answered(/*settled=*/false);
  course.Stop();
  EXPECT_EQ(course.Next(4), std::nullopt);
}

}  // namespace
}  // namespace capstan
