#include "chief/work/lane_assigner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "capstan/base/hash.h"

namespace capstan::chief {
namespace {

using Runners = std::vector<std::optional<TrainerId>>;

constexpr TrainerId kA{1};
constexpr TrainerId kB{2};
constexpr TrainerId kC{3};

TEST(LaneAssignerTest, AssignsNeighbouringLanesToDifferentTrainers) {
  const std::vector<TrainerId> trainers = {kA, kB};
  EXPECT_EQ(AssignLanes(Runners(4), trainers), (Runners{kA, kB, kA, kB}));
}

TEST(LaneAssignerTest, MovesOnlyWhatANewcomerIsOwed) {
  const std::vector<TrainerId> trainers = {kA, kB, kC};
  const Runners before = {kA, kB, kA, kB, kA, kB};
  const Runners after = AssignLanes(before, trainers);
  EXPECT_EQ(after, (Runners{kA, kB, kC, kC, kA, kB}));
}

TEST(LaneAssignerTest, WhatATrainerKeepsIsSpreadOverWhatItHad) {
  const std::vector<TrainerId> trainers = {kA, kB};
  EXPECT_EQ(AssignLanes(Runners(6, kA), trainers), (Runners{kA, kB, kA, kB, kA, kB}));
}

TEST(LaneAssignerTest, LeavesTheOddLaneWithItsHolder) {
  const std::vector<TrainerId> trainers = {kA, kB};
  const Runners before = {kB, kA, kB};
  EXPECT_EQ(AssignLanes(before, trainers), before);
}

TEST(LaneAssignerTest, TakesTheLanesOfThoseWhoAreGone) {
  const std::vector<TrainerId> trainers = {kB};
  EXPECT_EQ(AssignLanes(Runners{kA, kB}, trainers), (Runners{kB, kB}));
}

TEST(LaneAssignerTest, LeavesLanesWithoutHolderWhenNobodyIsThere) {
  EXPECT_EQ(AssignLanes(Runners{kA, std::nullopt}, {}), (Runners{std::nullopt, std::nullopt}));
}

TEST(LaneAssignerTest, LeavesTrainersIdleWhenLanesAreFew) {
  const std::vector<TrainerId> trainers = {kA, kB, kC};
  EXPECT_EQ(AssignLanes(Runners(1), trainers), (Runners{kA}));
}

// Over many random comings and goings: always even, and never more moves than the quotas demand.
TEST(LaneAssignerTest, StaysEvenAndMovesAsFewAsPossible) {
  Runners lanes(17);
  for (uint64_t step = 0; step < 2000; ++step) {
    std::vector<TrainerId> trainers;
    for (uint64_t id = 1; id <= 9; ++id) {
      if (Draw(7, step, id) % 2 == 0) trainers.push_back(TrainerId{id});
    }
    const Runners after = AssignLanes(lanes, trainers);
    std::map<TrainerId, size_t> before_count;
    std::map<TrainerId, size_t> count;
    for (TrainerId trainer : trainers) count[trainer] = 0;
    size_t moved = 0;
    for (size_t l = 0; l < lanes.size(); ++l) {
      if (lanes[l]) ++before_count[*lanes[l]];
      if (after[l]) ++count[*after[l]];
      if (after[l] != lanes[l]) ++moved;
    }
    if (!trainers.empty()) {
      size_t least = lanes.size();
      size_t most = 0;
      size_t kept = 0;  // The most lanes that any even assign could leave where they are.
      std::vector<size_t> held;
      for (const auto& [trainer, lanes_now] : count) {
        least = std::min(least, lanes_now);
        most = std::max(most, lanes_now);
        held.push_back(before_count[trainer]);
      }
      std::sort(held.rbegin(), held.rend());
      for (size_t i = 0; i < held.size(); ++i) {
        const size_t quota = lanes.size() / held.size() + (i < lanes.size() % held.size() ? 1 : 0);
        kept += std::min(held[i], quota);
      }
      EXPECT_LE(most - least, 1u);
      EXPECT_EQ(moved, lanes.size() - kept) << "step " << step;
    }
    lanes = after;
  }
}

}  // namespace
}  // namespace capstan::chief
