// Gradients of one round at one part of one partition: which are added ahead, applied, discarded.
#include "ps/machines/lane_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/ps/machines/testing.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Batches have 4 records; losses are means.
class LanePartTest : public testing::Test {
 protected:
  static ClosedLane Lane(int lane, uint32_t examples, Generation generation = kFirst) {
    return {.lane = LaneIndex{lane}, .generation = generation, .examples = examples};
  }

  Decision Staged(int lane, uint64_t handle, Generation generation = kFirst) {
    return part_.Stage({LaneIndex{lane}, generation, /*round=*/1, GradientHandle{handle}});
  }
  // The handles that are added when the shard hears this of round 1.
  std::vector<uint64_t> Added(const std::vector<ClosedLane>& counted,
                              const std::vector<LaneIndex>& ended = {}) {
    counts_.Learn({.round = 1, .counted = counted, .ended = ended});
    decision_ = {};
    part_.AddCounted(counts_, decision_);
    std::vector<uint64_t> handles;
    for (const Addition& addition : decision_.additions) {
      handles.push_back(static_cast<uint64_t>(addition.handle));
    }
    return handles;
  }
  Decision Close(std::vector<ClosedLane> lanes) {
    Decision decision;
    part_.Close({.round = 1, .lanes = std::move(lanes)}, version_, decision);
    return decision;
  }

  LanePart part_{Part::kDense, {.batch_size = 4}};
  LaneCounts counts_{kLine};
  Decision decision_;
  uint64_t version_ = 0;
};

TEST_F(LanePartTest, TheFirstGradientOfAGenerationStaysHoweverOftenItComes) {
  EXPECT_THAT(Staged(0, 1).discarded, IsEmpty());
  const Decision again = Staged(0, 2);
  EXPECT_EQ(again.outcome, v1::OUTCOME_STAGED);
  EXPECT_THAT(Discarded(again), ElementsAre(2));
  const Decision closed = Close({Lane(0, 4)});
  ASSERT_THAT(closed.updates, SizeIs(1));
  EXPECT_THAT(Handles(closed.updates[0]), ElementsAre(1));
}

TEST_F(LanePartTest, ALaterGenerationTakesThePlaceOfAnEarlierOneWhichIsRefusedFromThenOn) {
  Staged(0, 1, kFirst);
  EXPECT_THAT(Discarded(Staged(0, 2, kSecond)), ElementsAre(1));
  const Decision late = Staged(0, 3, kFirst);
  EXPECT_EQ(late.outcome, v1::OUTCOME_OLD_GENERATION);
  EXPECT_THAT(Discarded(late), ElementsAre(3));
  EXPECT_THAT(Handles(Close({Lane(0, 4, kSecond)}).updates[0]), ElementsAre(2));
  EXPECT_EQ(Staged(0, 4, kFirst).outcome, v1::OUTCOME_OLD_GENERATION) << "in later rounds, too";
}

TEST_F(LanePartTest, CountedGradientsAreAddedInTheOrderOfLanesUpToTheFirstThatIsMissing) {
  for (const int lane : {3, 1, 0}) Staged(lane, 10 + lane);
  EXPECT_THAT(Added({Lane(1, 4)}), IsEmpty()) << "lane 0 may still be counted";
  EXPECT_THAT(Added({Lane(0, 2)}), ElementsAre(10, 11));
  EXPECT_EQ(decision_.additions[0].weight, 0.5) << "half a batch";
  EXPECT_EQ(decision_.additions[1].weight, 1);
  EXPECT_THAT(Added({Lane(3, 4)}), IsEmpty()) << "lane 2 is neither counted nor at its end";
  EXPECT_THAT(Added({}, {LaneIndex{2}}), ElementsAre(13));
  EXPECT_THAT(Added({Lane(3, 4)}), IsEmpty()) << "each once";
}

TEST_F(LanePartTest, WhatComesAfterTheTurnOfItsLaneIsDiscarded) {
  EXPECT_THAT(Added({Lane(0, 4)}), IsEmpty()) << "it has no gradient here";
  const Decision late = Staged(0, 1);
  EXPECT_EQ(late.outcome, v1::OUTCOME_STAGED);
  EXPECT_THAT(Discarded(late), ElementsAre(1));
  EXPECT_FALSE(part_.holds());
}

TEST_F(LanePartTest, AnotherGenerationThanTheOneCountedIsNotAdded) {
  Staged(0, 1, kSecond);
  EXPECT_THAT(Added({Lane(0, 4, kFirst)}), IsEmpty());
  const Decision closed = Close({Lane(0, 4, kFirst)});
  EXPECT_THAT(closed.updates, IsEmpty());
  EXPECT_THAT(Discarded(closed), ElementsAre(1));
  EXPECT_EQ(version_, 0u) << "nothing was applied";
}

TEST_F(LanePartTest, ARoundClosesWithWhatWasAddedAndTheRestOfItsLanesAndDiscardsAllOthers) {
  for (const int lane : {0, 1, 2, 3}) Staged(lane, 10 + lane);
  ASSERT_THAT(Added({Lane(0, 2)}), ElementsAre(10));
  EXPECT_TRUE(part_.holds());
  const Decision closed = Close({Lane(0, 2), Lane(2, 4)});
  ASSERT_THAT(closed.updates, SizeIs(1));
  const Update& update = closed.updates[0];
  EXPECT_EQ(update.added, 1u);
  EXPECT_THAT(Handles(update), ElementsAre(12));
  EXPECT_DOUBLE_EQ(update.scale, 4.0 / 6) << "6 examples, in batches of 4";
  EXPECT_EQ(update.version, 1u);
  EXPECT_EQ(update.round, 1u);
  EXPECT_THAT(Discarded(closed), UnorderedElementsAre(11, 13));
  EXPECT_FALSE(part_.holds());
}

TEST_F(LanePartTest, TheNextRoundBeginsWithTheLowestLaneAgain) {
  Staged(0, 1);
  ASSERT_THAT(Added({Lane(0, 4), Lane(1, 4)}), ElementsAre(1));
  Close({Lane(0, 4), Lane(1, 4)});
  EXPECT_THAT(Staged(0, 2).discarded, IsEmpty());
  EXPECT_THAT(Handles(Close({Lane(0, 4)}).updates[0]), ElementsAre(2));
  EXPECT_EQ(version_, 2u);
}

TEST_F(LanePartTest, SumsOfLossesAreAddedAsTheyAreButTensorsThatAreNotTrainedTakeMeans) {
  part_ = LanePart(Part::kDense, {.batch_size = 4, .sum_loss = true});
  Staged(0, 1);
  Staged(1, 2);
  ASSERT_THAT(Added({Lane(0, 2)}), ElementsAre(1));
  EXPECT_EQ(decision_.additions[0].weight, 1);
  EXPECT_EQ(decision_.additions[0].running_weight, 0.5);
  const Decision closed = Close({Lane(0, 2), Lane(1, 6)});
  const Update& update = closed.updates[0];
  EXPECT_EQ(update.contributions[0].weight, 1);
  EXPECT_EQ(update.contributions[0].running_weight, 1.5);
  EXPECT_EQ(update.scale, 1);
  EXPECT_EQ(update.running_scale, 0.5) << "8 examples, in batches of 4";
}

}  // namespace
}  // namespace capstan::ps
