#include "ps/shard/own_view.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

constexpr ShardIdentity kSelf{ShardIndex{0}, Incarnation{10}};
constexpr ViewEpoch kLoaded;

// Two shards, of incarnations 10 and 11; partitions 0 and 1 are the first one's, 2 the other's.
v1::View TwoShards() {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(5);
  view.set_timeline(3);
  for (const uint32_t owner : {0, 0, 1}) view.add_owners(owner);
  for (uint32_t index = 0; index < 2; ++index) {
    v1::ShardInfo& shard = *view.add_shards();
    shard.set_index(index);
    shard.set_incarnation(10 + index);
    shard.set_address(index == 0 ? "here:1" : "there:1");
  }
  return view;
}

void AddMove(v1::View& view, uint32_t partition, uint32_t to) {
  v1::PartitionMove& move = *view.add_moves();
  move.set_partition(partition);
  move.set_to(to);
  move.set_to_incarnation(10 + to);
  move.mutable_id()->set_term(1);
  move.mutable_id()->set_n(4);
}

void AddCopy(v1::View& view, uint32_t partition, uint64_t n) {
  v1::PartitionCopy& copy = *view.add_copies();
  copy.set_partition(partition);
  copy.mutable_move()->set_term(1);
  copy.mutable_move()->set_n(n);
}

TEST(OwnViewTest, NamesWhatLeavesAndWhatComes) {
  v1::View view = TwoShards();
  AddMove(view, 1, 1);
  AddMove(view, 2, 0);
  const OwnView own(view, kSelf);
  EXPECT_EQ(own.epoch(), (ViewEpoch{1, 5}));
  EXPECT_EQ(own.timeline(), 3u);
  const std::optional<OutgoingMove> leaves = own.Outgoing(PartitionIndex{1});
  ASSERT_TRUE(leaves.has_value());
  EXPECT_EQ(leaves->id, (ViewEpoch{1, 4}));
  EXPECT_EQ(leaves->address, "there:1");
  EXPECT_EQ(leaves->incarnation, Incarnation{11});
  EXPECT_EQ(own.Incoming(PartitionIndex{2}), (ViewEpoch{1, 4}));
  EXPECT_FALSE(own.Outgoing(PartitionIndex{0}) || own.Outgoing(PartitionIndex{2}) ||
               own.Incoming(PartitionIndex{1}));
}

TEST(OwnViewTest, ACopyIsSentByTheOwnerAndByTheMoveThatIsNamed) {
  v1::View view = TwoShards();
  AddMove(view, 2, 0);
  const OwnView own(view, kSelf);
  EXPECT_EQ(own.Sender(PartitionIndex{2}, {1, 4}), 1u);
  EXPECT_EQ(own.Sender(PartitionIndex{2}, {1, 3}), std::nullopt);
  EXPECT_EQ(own.Sender(PartitionIndex{1}, {1, 4}), std::nullopt) << "it does not move";
  EXPECT_EQ(own.Sender(PartitionIndex{99}, {1, 4}), std::nullopt);
  view.clear_owners();
  EXPECT_EQ(OwnView(view, kSelf).Sender(PartitionIndex{2}, {1, 4}), std::nullopt);
}

TEST(OwnViewTest, AProcessIsThatOfAShardForAsLongAsTheViewNamesIt) {
  v1::View view = TwoShards();
  EXPECT_EQ(OwnView(view, kSelf).ShardOf(Incarnation{11}), 1u);
  EXPECT_EQ(OwnView(view, kSelf).ShardOf(Incarnation{99}), std::nullopt);
  view.mutable_shards(1)->set_incarnation(99);
  EXPECT_EQ(OwnView(view, kSelf).ShardOf(Incarnation{11}), std::nullopt);
  EXPECT_EQ(OwnView().ShardOf(Incarnation{11}), std::nullopt);
}

TEST(OwnViewTest, WhatIsHandedOverToItsBackupBringsNoCopy) {
  v1::View view = TwoShards();
  AddMove(view, 1, 1);
  AddMove(view, 2, 0);
  for (v1::PartitionMove& move : *view.mutable_moves()) move.set_hand_over(true);
  const OwnView own(view, kSelf);
  ASSERT_TRUE(own.Outgoing(PartitionIndex{1}).has_value());
  EXPECT_TRUE(own.Outgoing(PartitionIndex{1})->hand_over);
  EXPECT_FALSE(own.Incoming(PartitionIndex{2}).has_value());
}

TEST(OwnViewTest, AnotherLifeOfTheShardTakesNoPart) {
  v1::View view = TwoShards();
  AddMove(view, 1, 1);
  AddMove(view, 2, 0);
  AddCopy(view, 0, 2);
  const OwnView own(view, {ShardIndex{0}, Incarnation{99}});
  EXPECT_FALSE(own.Outgoing(PartitionIndex{1}) || own.Incoming(PartitionIndex{2}) ||
               own.Received(PartitionIndex{0}));
  EXPECT_TRUE(own.Disowns(PartitionIndex{0}, {1, 2}));
}

TEST(OwnViewTest, AMoveToALifeThatIsOverLeadsNowhere) {
  v1::View view = TwoShards();
  AddMove(view, 1, 1);
  view.mutable_moves(0)->set_to_incarnation(99);
  EXPECT_FALSE(OwnView(view, kSelf).Outgoing(PartitionIndex{1}));
}

TEST(OwnViewTest, OnlyTheCopyThatTheViewNamesIsServed) {
  v1::View view = TwoShards();
  AddCopy(view, 1, 3);
  AddCopy(view, 2, 4);
  const OwnView own(view, kSelf);
  EXPECT_FALSE(own.Disowns(PartitionIndex{0}, kLoaded));
  EXPECT_FALSE(own.Disowns(PartitionIndex{1}, {1, 3}));
  EXPECT_TRUE(own.Disowns(PartitionIndex{1}, kLoaded)) << "it has left and come back since";
  EXPECT_TRUE(own.Disowns(PartitionIndex{2}, kLoaded)) << "it is another one's";
  EXPECT_EQ(own.Received(PartitionIndex{1}), (ViewEpoch{1, 3}));
  EXPECT_FALSE(own.Received(PartitionIndex{2}));
}

TEST(OwnViewTest, WithoutACopyTheMapAloneTakesNothingAway) {
  const OwnView own(TwoShards(), kSelf);
  EXPECT_FALSE(own.Disowns(PartitionIndex{2}, kLoaded)) << "that is done by another timeline";
}

TEST(OwnViewTest, BeforeAnyViewNothingIsKnown) {
  const OwnView own;
  EXPECT_FALSE(own.Outgoing(PartitionIndex{0}) || own.Incoming(PartitionIndex{0}) ||
               own.Disowns(PartitionIndex{0}, kLoaded));
}

TEST(OwnViewTest, PartitionsThatNoJobHasAreNobodys) {
  v1::View view = TwoShards();
  AddMove(view, 0xFFFFFFFF, 1);
  EXPECT_FALSE(OwnView(view, kSelf).Outgoing(PartitionIndex{-1}));
}

}  // namespace
}  // namespace capstan::ps
