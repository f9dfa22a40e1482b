#include "capstan/security/seal.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace capstan {
namespace {

RoundCommit ClosedRound() {
  return {.round = 4,
          .lanes = {{.lane = LaneIndex{0}, .generation = {.term = 1, .count = 2}, .examples = 32},
                    {.lane = LaneIndex{3}, .generation = {.term = 1, .count = 5}, .examples = 16}}};
}

TEST(SealerTest, AKeyIsNewEachTime) {
  EXPECT_EQ(Sealer::NewKey().size(), 32u);
  EXPECT_NE(Sealer::NewKey(), Sealer::NewKey());
}

TEST(SealerTest, ASealIsTheSameInEveryReleaseForShardsAndChiefMayBeOfTwo) {
  const Sealer sealer("key");
  EXPECT_EQ(sealer.OfExamples(1, 7), 0x9e794774a2f9f99au);
  EXPECT_EQ(sealer.OfTask(9, TrainerId{8}, StreamId{7}, {.term = 6, .count = 5}),
            0x621b4699b3643569u);
}

TEST(SealerTest, EachThingThatIsSealedCounts) {
  const Sealer sealer("key");
  const Generation generation = {.term = 4, .count = 5};
  std::set<uint64_t> seals = {sealer.OfTask(1, TrainerId{2}, StreamId{3}, generation)};
  size_t made = 1;
  const auto differs = [&](uint64_t seal) {
    seals.insert(seal);
    EXPECT_EQ(seals.size(), ++made);
  };
  differs(sealer.OfTask(9, TrainerId{2}, StreamId{3}, generation));
  differs(sealer.OfTask(1, TrainerId{9}, StreamId{3}, generation));
  differs(sealer.OfTask(1, TrainerId{2}, StreamId{9}, generation));
  differs(sealer.OfTask(1, TrainerId{2}, StreamId{3}, {.term = 9, .count = 5}));
  differs(sealer.OfTask(1, TrainerId{2}, StreamId{3}, {.term = 4, .count = 9}));
  differs(sealer.OfTask(1, TrainerId{2}, StreamId{3}, {.term = 5, .count = 4}));
  differs(sealer.OfLane(1, TrainerId{2}, 3, generation));
  differs(sealer.OfLane(1, TrainerId{2}, 4, generation));
  differs(sealer.OfExamples(1, 2));
  differs(sealer.OfExamples(2, 1));
  differs(sealer.OfRound(1, {.round = 2}));
  differs(Sealer("another").OfExamples(1, 2));
}

TEST(SealerTest, ARoundIsSealedWithAllOfItsLanes) {
  const Sealer sealer("key");
  const uint64_t right = sealer.OfRound(1, ClosedRound());
  RoundCommit same = ClosedRound();
  same.seal = 99;
  same.lanes[0].generation.seal = 99;
  EXPECT_EQ(sealer.OfRound(1, same), right) << "seals on their way are no part of it";
  EXPECT_NE(sealer.OfRound(2, ClosedRound()), right);
  const std::vector<std::function<void(RoundCommit&)>> lies = {
      [](RoundCommit& round) { ++round.round; },
      [](RoundCommit& round) { round.lanes.pop_back(); },
      [](RoundCommit& round) { round.lanes[1].lane = LaneIndex{2}; },
      [](RoundCommit& round) { ++round.lanes[1].generation.term; },
      [](RoundCommit& round) { ++round.lanes[1].generation.count; },
      [](RoundCommit& round) { ++round.lanes[1].examples; }};
  for (size_t i = 0; i < lies.size(); ++i) {
    RoundCommit lie = ClosedRound();
    lies[i](lie);
    EXPECT_NE(sealer.OfRound(1, lie), right) << i;
  }
}

TEST(SealerTest, OnlyTheRightSealIsRightUnlessThereIsNoKey) {
  const Sealer sealer("key");
  const uint64_t made = sealer.OfExamples(1, 7);
  EXPECT_TRUE(sealer.IsRight(made, made));
  EXPECT_FALSE(sealer.IsRight(0, made));
  EXPECT_FALSE(sealer.IsRight(made ^ 1, made));
  const Sealer without;
  EXPECT_EQ(without.OfExamples(1, 7), 0u);
  EXPECT_EQ(without.OfRound(1, ClosedRound()), 0u);
  EXPECT_TRUE(without.IsRight(12345, 0)) << "a chief of an earlier version seals nothing";
}

}  // namespace
}  // namespace capstan
