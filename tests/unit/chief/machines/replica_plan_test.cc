#include "chief/machines/replica_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

ReplicaQuestion Question(uint32_t partitions, uint32_t shards) {
  ReplicaQuestion question;
  for (uint32_t i = 0; i < partitions; ++i) question.owners.push_back(i % shards);
  question.backups.resize(partitions);
  question.weights.resize(partitions);
  for (uint32_t i = 0; i < shards; ++i) question.takers.insert(i);
  return question;
}

// How many partitions of each owner each shard is to back up.
std::map<uint32_t, std::map<uint32_t, int>> ByOwner(const std::vector<PlannedMove>& moves) {
  std::map<uint32_t, std::map<uint32_t, int>> counts;
  for (const PlannedMove& move : moves) ++counts[move.from][move.to];
  return counts;
}

TEST(PlanReplicasTest, EveryPartitionIsBackedUpByAnotherShardThanItsOwner) {
  const std::vector<PlannedMove> moves = PlanReplicas(Question(8, 2));
  ASSERT_THAT(moves, SizeIs(8));
  for (const PlannedMove& move : moves) {
    EXPECT_EQ(move.from, move.partition % 2);
    EXPECT_EQ(move.to, 1 - move.from);
    EXPECT_TRUE(move.replica);
  }
}

TEST(PlanReplicasTest, WhatOneShardOwnsIsSpreadOverAllOthers) {
  for (const auto& [owner, backups] : ByOwner(PlanReplicas(Question(24, 4)))) {
    ASSERT_THAT(backups, SizeIs(3)) << owner;
    for (const auto& [shard, count] : backups) EXPECT_EQ(count, 2) << owner << " by " << shard;
  }
}

// Shards 0 and 1 in one zone, 2 and 3 in another.
ReplicaQuestion InTwoZones(uint32_t partitions) {
  ReplicaQuestion question = Question(partitions, 4);
  question.zones = {{0, "a"}, {1, "a"}, {2, "b"}, {3, "b"}};
  return question;
}

TEST(PlanReplicasTest, WhereThereIsAnotherZoneABackupIsThere) {
  for (const auto& [owner, backups] : ByOwner(PlanReplicas(InTwoZones(16)))) {
    ASSERT_THAT(backups, SizeIs(2)) << owner;
    for (const auto& [shard, count] : backups) EXPECT_NE(shard / 2, owner / 2);
  }
}

TEST(PlanReplicasTest, WhereThereIsNoOtherZoneOrNoneIsKnownAnotherShardWillDo) {
  ReplicaQuestion question = InTwoZones(8);
  question.takers = {0, 1};
  for (uint32_t& owner : question.owners) owner %= 2;
  EXPECT_THAT(PlanReplicas(question), SizeIs(8));
  question.zones = {{0, "a"}};
  EXPECT_THAT(PlanReplicas(question), SizeIs(8));
}

TEST(PlanReplicasTest, ABackupLeavesItsOwnersZoneOnceThereIsAnother) {
  ReplicaQuestion question = InTwoZones(16);
  for (uint32_t i = 0; i < 16; ++i) question.backups[i] = question.owners[i] ^ 1;
  EXPECT_THAT(PlanReplicas(question), IsEmpty()) << "not for its own sake";
  question.even = true;
  const std::vector<PlannedMove> moves = PlanReplicas(question);
  EXPECT_THAT(moves, SizeIs(16));
  for (const PlannedMove& move : moves) EXPECT_NE(move.to / 2, move.from / 2);
}

TEST(PlanReplicasTest, NoBackupGoesToItsOwnersZoneForTheSakeOfBalance) {
  ReplicaQuestion question = InTwoZones(16);
  question.even = true;
  for (uint32_t i = 0; i < 16; ++i) question.backups[i] = i % 4 < 2 ? 2 : 0;
  std::vector<PlannedMove> moves = PlanReplicas(question);
  EXPECT_THAT(moves, Not(IsEmpty()));
  for (const PlannedMove& move : moves) EXPECT_NE(move.to / 2, move.from / 2);
}

TEST(PlanReplicasTest, TheHeaviestComesFirstAndGoesToWhoeverHasTheLeast) {
  ReplicaQuestion question = Question(3, 3);
  question.weights[0].bytes = 100;
  question.weights[1].bytes = 5000;
  question.weights[2].bytes = 300;
  EXPECT_THAT(PlanReplicas(question),
              ElementsAre(PlannedMove{1, 1, 0, true}, PlannedMove{2, 2, 1, true},
                          PlannedMove{0, 0, 2, true}));
}

TEST(PlanReplicasTest, WhatHasABackupKeepsItAndCountsWhereItIs) {
  ReplicaQuestion question = Question(6, 3);
  for (uint32_t i : {0u, 3u, 2u, 5u}) question.backups[i] = 1;
  const std::vector<PlannedMove> moves = PlanReplicas(question);
  ASSERT_THAT(moves, SizeIs(2)) << "1 and 4, whose owner has six copies already";
  EXPECT_EQ(moves[0].to, 0u);
  EXPECT_EQ(moves[1].to, 2u);
}

TEST(PlanReplicasTest, AShardThatHasComeIsGivenBackupsOfOthersWhereTheyAreToBeMadeEven) {
  // Each owns three; the backups are all on 0 and 1.
  ReplicaQuestion question = Question(9, 3);
  for (uint32_t i = 0; i < 9; ++i) question.backups[i] = question.owners[i] == 0 ? 1 : 0;
  EXPECT_THAT(PlanReplicas(question), IsEmpty()) << "nobody lacks a backup";
  question.even = true;
  const std::vector<PlannedMove> moves = PlanReplicas(question);
  std::map<uint32_t, int> held = {{0, 9}, {1, 6}, {2, 3}};
  for (const PlannedMove& move : moves) {
    EXPECT_TRUE(move.replica);
    EXPECT_NE(move.to, move.from);
    --held[*question.backups[move.partition]];
    ++held[move.to];
  }
  EXPECT_THAT(held, testing::Each(testing::Pair(testing::_, 6)));
  EXPECT_THAT(moves, SizeIs(3)) << "no more than need be";
}

TEST(PlanReplicasTest, WhatIsEvenStays) {
  ReplicaQuestion question = Question(12, 3);
  question.even = true;
  for (const PlannedMove& move : PlanReplicas(question)) question.backups[move.partition] = move.to;
  EXPECT_THAT(PlanReplicas(question), IsEmpty());
}

TEST(PlanReplicasTest, AShardThatLeavesIsGivenNothingAndItsPartitionsMoveFirst) {
  ReplicaQuestion question = Question(6, 3);
  question.takers = {0, 1};
  for (const PlannedMove& move : PlanReplicas(question)) {
    EXPECT_NE(move.to, 2u);
    EXPECT_NE(move.from, 2u);
  }
  EXPECT_THAT(PlanReplicas(question), SizeIs(4));
}

TEST(PlanReplicasTest, OneShardAloneBacksUpNothing) {
  EXPECT_THAT(PlanReplicas(Question(4, 1)), IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
