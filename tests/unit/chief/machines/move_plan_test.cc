#include "chief/machines/move_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::map<uint32_t, int> CountsOf(const std::vector<uint32_t>& owners) {
  std::map<uint32_t, int> counts;
  for (uint32_t owner : owners) ++counts[owner];
  return counts;
}

MoveQuestion Even(uint32_t partitions, uint32_t shards, std::set<uint32_t> takers) {
  MoveQuestion question;
  for (uint32_t i = 0; i < partitions; ++i) question.owners.push_back(i % shards);
  question.weights.assign(partitions, {.bytes = 100, .load = 10});
  question.takers = std::move(takers);
  return question;
}

TEST(MovePlanTest, TwoMoreShardsGetHalfOfAllAndNothingElseMoves) {
  const MoveQuestion question = Even(16, 2, {0, 1, 2, 3});
  const std::vector<PlannedMove> moves = PlanMoves(question);
  EXPECT_THAT(moves, SizeIs(8));
  EXPECT_EQ(CountsOf(After(question, moves).owners),
            (std::map<uint32_t, int>{{0, 4}, {1, 4}, {2, 4}, {3, 4}}));
  EXPECT_EQ(PlanMoves(question), moves) << "the same question has the same answer";
}

TEST(MovePlanTest, WhatALeavingShardHoldsIsSharedByTheOthers) {
  const MoveQuestion question = Even(12, 4, {0, 1, 3});
  const std::vector<PlannedMove> moves = PlanMoves(question);
  EXPECT_THAT(moves, SizeIs(3));
  for (const PlannedMove& move : moves) EXPECT_EQ(move.from, 2u);
  EXPECT_EQ(CountsOf(After(question, moves).owners),
            (std::map<uint32_t, int>{{0, 4}, {1, 4}, {3, 4}}));
}

TEST(MovePlanTest, WhatALeavingShardHoldsGoesToItsBackupsWhereTheyStay) {
  MoveQuestion question = Even(12, 4, {0, 1, 3});
  question.backups.assign(12, 3);
  question.backups[2] = 0;
  question.backups[6].reset();
  question.owners[3] = 2;
  question.backups[3] = 2;  // Leaves as well.
  std::map<uint32_t, uint32_t> to;
  for (const PlannedMove& move : PlanMoves(question)) to[move.partition] = move.to;
  ASSERT_THAT(to, SizeIs(4));
  EXPECT_EQ(to[2], 0u);
  EXPECT_EQ(to[10], 3u);
  EXPECT_NE(to[3], 2u);
  EXPECT_NE(to[6], 2u);
}

TEST(MovePlanTest, NothingMovesWhereAllIsEven) {
  EXPECT_THAT(PlanMoves(Even(16, 4, {0, 1, 2, 3})), IsEmpty());
}

TEST(MovePlanTest, ThatTwoShardsOnlyChangePlacesIsNotWorthAMove) {
  MoveQuestion question = Even(16, 3, {0, 1, 2});
  question.weights[0].load = 10.5;
  question.weights[3].load = 9.5;
  EXPECT_GT(SkewOf(question).load, 1 + kEven);
  EXPECT_THAT(PlanMoves(question), IsEmpty());
}

TEST(MovePlanTest, WithoutTakersNothingMoves) {
  EXPECT_THAT(PlanMoves(Even(16, 4, {})), IsEmpty());
}

TEST(MovePlanTest, OfMoreShardsThanPartitionsSomeStayEmpty) {
  const MoveQuestion question = Even(2, 1, {0, 1, 2});
  EXPECT_THAT(PlanMoves(question), SizeIs(1));
}

TEST(MovePlanTest, AHotPartitionStaysAndWhatLiesBesideItGoes) {
  MoveQuestion question = Even(20, 2, {0, 1});
  question.weights[0].load = 100;
  const std::vector<PlannedMove> moves = PlanMoves(question);
  EXPECT_LE(SkewOf(After(question, moves)).load, 1.25);
  EXPECT_GT(SkewOf(question).load, 1.3);
}

TEST(MovePlanTest, BytesAndLoadEndWithinATenthOfTheMean) {
  MoveQuestion question = Even(256, 4, {0, 1, 2, 3, 4, 5});
  for (size_t i = 0; i < question.weights.size(); ++i) {
    question.weights[i] = {.bytes = 50 + 7919 * i % 101, .load = 5.0 + 104729 * i % 13};
  }
  const MoveQuestion after = After(question, PlanMoves(question));
  EXPECT_LE(SkewOf(after).bytes, 1 + kEven);
  EXPECT_LE(SkewOf(after).load, 1 + kEven);
  EXPECT_GT(SkewOf(question).bytes, 1.4);
}

TEST(MovePlanTest, WhoOnlyHasToTakeIsNotMadeEven) {
  MoveQuestion question = Even(12, 3, {0, 1, 5});
  question.even = false;
  const std::vector<PlannedMove> moves = PlanMoves(question);
  EXPECT_THAT(moves, SizeIs(4));
  for (const PlannedMove& move : moves) {
    EXPECT_EQ(move.from, 2u);
    EXPECT_EQ(move.to, 5u) << "which has the least";
  }
}

TEST(MovePlanTest, WhereNothingIsKnownPartitionsCount) {
  MoveQuestion question = Even(8, 1, {0, 1});
  question.weights.assign(8, {});
  EXPECT_THAT(PlanMoves(question), SizeIs(4));
}

TEST(MovePlanTest, WhatIsToHaveABackupAllTheTimeIsBackedUpWhereItGoesAndThenHandedOver) {
  MoveQuestion question = Even(6, 2, {0, 2});  // Shard 1 leaves.
  question.backups = {1, 2, 2, std::nullopt, 1, 0};
  EXPECT_EQ(BackedUpFirst({{0, 0, 2}, {1, 1, 2}, {2, 0, 2}, {4, 0, 2}}, question, 16),
            (std::vector<PlannedMove>{
                {0, 0, 2, true}, {1, 1, 2}, {2, 0, 2}, {4, 0, 2, true}, {0, 0, 2}, {4, 0, 2}}));
  EXPECT_EQ(BackedUpFirst({{0, 0, 2}, {4, 0, 2}}, question, 1),
            (std::vector<PlannedMove>{{0, 0, 2, true}, {0, 0, 2}, {4, 0, 2, true}, {4, 0, 2}}));
}

}  // namespace
}  // namespace capstan::chief
