#include "chief/state/view_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chief/state/view_gate.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

v1::PartitionMove MoveOf(uint32_t partition, uint32_t to) {
  v1::PartitionMove move;
  move.set_partition(partition);
  move.set_to(to);
  return move;
}

class ViewBuilderTest : public testing::Test {
 protected:
  ViewBuilderTest() {
    for (uint32_t index : {0u, 1u, 5u}) {
      v1::RegisterShardRequest request;
      request.set_index(index);
      request.set_address("ps:7000");
      request.set_incarnation(index + 1);
      EXPECT_TRUE(table_.Register(request, absl::UnixEpoch()).ok());
    }
    views_.MakeMap(/*partitions=*/4, {0, 1});
    views_.SetTimeline(1);
    Update();
  }
  const v1::View& Update() {
    (void)views_.Update(v1::JOB_STATE_RUNNING, table_, Membership({}));
    return views_.current();
  }

  ShardTable table_{2, 8};
  ViewBuilder views_{3, v1::JobSpec()};
};

TEST_F(ViewBuilderTest, OnlyMembersAreNamedThoughOthersHaveRegistered) {
  EXPECT_THAT(views_.current().shards(), SizeIs(2));
  views_.AddMember(5);
  EXPECT_THAT(Update().shards(), SizeIs(3));
  EXPECT_EQ(views_.current().shards(2).index(), 5u);
  views_.RemoveMember(5);
  EXPECT_THAT(Update().shards(), SizeIs(2));
}

TEST_F(ViewBuilderTest, TheNextChiefIsToldWhichShardsHaveShownTheirSecrets) {
  EXPECT_FALSE(views_.current().shards(1).shows_secret());
  const uint64_t before = views_.current().epoch().n();
  table_.Find(1)->shows_secret = true;
  EXPECT_TRUE(Update().shards(1).shows_secret());
  EXPECT_EQ(views_.current().epoch().n(), before + 1);
  EXPECT_TRUE(views_.ToStore(Membership({})).shards(1).shows_secret());
  EXPECT_EQ(Update().epoch().n(), before + 1);
}

TEST_F(ViewBuilderTest, AMoveHasTheEpochOfTheViewThatNamesItFirst) {
  views_.AddMember(5);
  views_.SetMoves({MoveOf(1, 5)});
  const uint64_t ordered = Update().epoch().n();
  EXPECT_EQ(views_.current().moves(0).id().n(), ordered);
  EXPECT_EQ(views_.current().moves(0).id().term(), 3u);
  (void)views_.Update(v1::JOB_STATE_CHECKPOINTING, table_, Membership({}));
  EXPECT_GT(views_.current().epoch().n(), ordered);
  EXPECT_EQ(views_.current().moves(0).id().n(), ordered) << "and keeps it";
}

TEST_F(ViewBuilderTest, CarriedOutMovesNameTheirCopiesUntilTheTimelineIsOver) {
  views_.AddMember(5);
  views_.SetMoves({MoveOf(1, 5)});
  const uint64_t first = Update().epoch().n();
  views_.CarryOutMoves();
  EXPECT_THAT(Update().owners(), ElementsAre(0, 5, 0, 1));
  EXPECT_THAT(views_.current().moves(), IsEmpty());
  ASSERT_THAT(views_.current().copies(), SizeIs(1));
  EXPECT_EQ(views_.current().copies(0).move().n(), first);
  EXPECT_TRUE(views_.Owns(5));

  views_.SetMoves({MoveOf(1, 0), MoveOf(3, 0)});
  const uint64_t second = Update().epoch().n();
  views_.CarryOutMoves();
  Update();
  ASSERT_THAT(views_.current().copies(), SizeIs(2)) << "the last one of each";
  EXPECT_EQ(views_.current().copies(0).move().n(), second);
  EXPECT_FALSE(views_.Owns(5));
  EXPECT_FALSE(views_.Owns(1));

  views_.SetTimeline(2);
  EXPECT_THAT(Update().copies(), IsEmpty());
}

TEST_F(ViewBuilderTest, CopiesOfAShardThatLoadsAreForgottenAndThoseOfOthersAreNot) {
  views_.SetMoves({MoveOf(0, 1), MoveOf(1, 0)});
  Update();
  views_.CarryOutMoves();
  views_.ForgetCopies(1);
  ASSERT_THAT(Update().copies(), SizeIs(1));
  EXPECT_EQ(views_.current().copies(0).partition(), 1u);
}

v1::PartitionMove ReplicaOf(uint32_t partition, uint32_t to) {
  v1::PartitionMove move = MoveOf(partition, to);
  move.set_to_incarnation(to + 1);
  move.set_replica(true);
  return move;
}

TEST_F(ViewBuilderTest, AMoveThatMakesAReplicaEndsInAPairAndTheOwnerStays) {
  views_.SetMoves({ReplicaOf(3, 0), ReplicaOf(0, 1)});
  const uint64_t ordered = Update().epoch().n();
  views_.CarryOutMoves();
  EXPECT_THAT(Update().owners(), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(views_.current().copies(), IsEmpty());
  ASSERT_THAT(views_.current().pairs(), SizeIs(2));
  const v1::PartitionPair& pair = views_.current().pairs(0);
  EXPECT_EQ(pair.partition(), 0u) << "ascending";
  EXPECT_EQ(pair.backup(), 1u);
  EXPECT_EQ(pair.backup_incarnation(), 2u);
  EXPECT_EQ(pair.move().n(), ordered);
  EXPECT_EQ(pair.id().n(), views_.current().epoch().n()) << "of the view that makes the pair";
  (void)views_.Update(v1::JOB_STATE_CHECKPOINTING, table_, Membership({}));
  EXPECT_LT(views_.current().pairs(0).id().n(), views_.current().epoch().n()) << "and stays that";
  EXPECT_EQ(views_.PairOf(3)->backup(), 0u);
  EXPECT_EQ(views_.PairOf(1), nullptr);
  EXPECT_TRUE(views_.Backs(1));
  views_.SetTimeline(2);
  EXPECT_THAT(Update().pairs(), IsEmpty());
}

TEST_F(ViewBuilderTest, ASwitchOfTheOwnerEndsThePair) {
  views_.AddMember(5);
  views_.SetMoves({ReplicaOf(0, 1), ReplicaOf(2, 1)});
  Update();
  views_.CarryOutMoves();
  views_.SetMoves({MoveOf(0, 5)});
  ASSERT_THAT(Update().pairs(), SizeIs(2));
  views_.CarryOutMoves();
  ASSERT_THAT(Update().pairs(), SizeIs(1));
  EXPECT_EQ(views_.current().pairs(0).partition(), 2u);
}

TEST_F(ViewBuilderTest, WhatIsHandedOverIsServedByTheCopyOfItsPair) {
  views_.SetMoves({ReplicaOf(1, 0), ReplicaOf(3, 0)});
  const uint64_t copied = Update().epoch().n();
  views_.CarryOutMoves();
  Update();
  v1::PartitionMove move = MoveOf(1, 0);
  move.set_hand_over(true);
  views_.SetMoves({move});
  ASSERT_THAT(Update().pairs(), SizeIs(2)) << "it is a pair until the switch";
  views_.CarryOutMoves();
  EXPECT_THAT(Update().owners(), ElementsAre(0, 0, 0, 1));
  ASSERT_THAT(views_.current().copies(), SizeIs(1));
  EXPECT_EQ(views_.current().copies(0).partition(), 1u);
  EXPECT_EQ(views_.current().copies(0).move().n(), copied);
}

TEST_F(ViewBuilderTest, WhoHandsOverAndStaysIsTheBackupFromThenOn) {
  views_.SetMoves({ReplicaOf(1, 0), ReplicaOf(3, 0)});
  Update();
  views_.CarryOutMoves();
  Update();
  v1::PartitionMove move = MoveOf(1, 0);
  move.set_hand_over(true);
  views_.SetMoves({move});
  const uint64_t ordered = Update().epoch().n();
  views_.CarryOutMoves();
  const v1::View& view = Update();
  ASSERT_THAT(view.pairs(), SizeIs(2));
  EXPECT_EQ(view.pairs(0).partition(), 1u);
  EXPECT_EQ(view.pairs(0).backup(), 1u);
  EXPECT_EQ(view.pairs(0).backup_incarnation(), view.shards(1).incarnation());
  EXPECT_EQ(view.pairs(0).move().n(), ordered) << "it names what it has after the hand-over";
  EXPECT_EQ(view.pairs(0).id().n(), view.epoch().n());
  move.set_to(1);
  views_.SetMoves({move});
  Update();
  views_.CarryOutMoves();
  EXPECT_EQ(Update().owners(1), 1u);
  EXPECT_EQ(views_.current().copies(0).move().n(), ordered);
}

TEST_F(ViewBuilderTest, WhoHandsOverAndLeavesIsNoBackup) {
  views_.SetMoves({ReplicaOf(1, 0), ReplicaOf(3, 0)});
  Update();
  views_.CarryOutMoves();
  table_.Find(1)->draining = true;
  Update();
  v1::PartitionMove move = MoveOf(1, 0);
  move.set_hand_over(true);
  views_.SetMoves({move});
  Update();
  views_.CarryOutMoves();
  ASSERT_THAT(Update().pairs(), SizeIs(1));
  EXPECT_EQ(views_.current().pairs(0).partition(), 3u);
}

TEST_F(ViewBuilderTest, APromotionMakesBackupsOwnersByTheCopyOfTheirPair) {
  views_.SetMoves({ReplicaOf(1, 0), ReplicaOf(3, 0), ReplicaOf(0, 1)});
  const uint64_t ordered = Update().epoch().n();
  views_.CarryOutMoves();
  Update();
  views_.DropPairs([](const v1::PartitionPair& pair) { return pair.backup() == 1; });
  views_.Promote({1});
  EXPECT_THAT(Update().owners(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(views_.current().pairs(), IsEmpty());
  ASSERT_THAT(views_.current().copies(), SizeIs(2));
  EXPECT_EQ(views_.current().copies(0).partition(), 1u);
  EXPECT_EQ(views_.current().copies(0).move().n(), ordered);
  EXPECT_THAT(views_.members(), ElementsAre(0));
}

TEST_F(ViewBuilderTest, TheNextChiefKeepsPairsButNoneThatNoChiefHasMade) {
  views_.SetMoves({ReplicaOf(1, 0), ReplicaOf(2, 1)});
  Update();
  views_.CarryOutMoves();
  v1::View stored = Update();
  const auto add = [&stored](uint32_t partition, uint32_t backup) {
    v1::PartitionPair& pair = *stored.add_pairs();
    pair.set_partition(partition);
    pair.set_backup(backup);
    *pair.mutable_move() = stored.epoch();
    *pair.mutable_id() = stored.epoch();
  };
  add(/*partition=*/0, /*backup=*/0);  // Its own owner.
  add(0, 7);                           // Nobody knows it.
  add(9, 1);                           // There is no such partition.
  add(1, 0);                           // A second time.
  stored.add_pairs()->set_partition(3);
  ViewBuilder next(4, v1::JobSpec());
  next.Inherit(stored);
  EXPECT_TRUE(next.Update(v1::JOB_STATE_RUNNING, table_, Membership({})));
  ASSERT_THAT(next.current().pairs(), SizeIs(2));
  EXPECT_EQ(next.current().pairs(0).partition(), 1u);
  EXPECT_EQ(next.current().pairs(1).partition(), 2u);
}

TEST_F(ViewBuilderTest, TheNextChiefKeepsCopiesAndMembersAndNamesNoMoves) {
  views_.AddMember(5);
  views_.SetMoves({MoveOf(1, 5)});
  Update();
  views_.CarryOutMoves();
  views_.SetMoves({MoveOf(3, 5)});
  Update();
  ViewBuilder next(4, v1::JobSpec());
  next.Inherit(views_.current());
  EXPECT_TRUE(next.Update(v1::JOB_STATE_RUNNING, table_, Membership({})));
  EXPECT_THAT(next.current().moves(), IsEmpty());
  EXPECT_THAT(next.current().copies(), SizeIs(1));
  EXPECT_THAT(next.members(), ElementsAre(0, 1, 5));
}

TEST_F(ViewBuilderTest, AViewOfSspNamesWhoTrainsAndIsAnotherOneWhenThatIsSomebodyElse) {
  v1::JobSpec ssp;
  ssp.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  ViewBuilder views(3, ssp);
  v1::View before;
  before.add_trainers()->set_worker("earlier");
  views.Inherit(before);
  Membership workers({.term = 3, .threads = 1, .max_workers = 9});
  v1::RegisterWorkerRequest request;
  request.set_name("w");
  request.set_incarnation(1);
  Trainer& trainer = workers.Register(request, /*peer=*/"", absl::UnixEpoch())->worker->trainers[0];
  const auto update = [&] { return views.Update(v1::JOB_STATE_RUNNING, table_, workers); };
  EXPECT_TRUE(update());
  EXPECT_FALSE(update());
  workers.SetTraining(trainer, true, /*start_clock=*/7);
  EXPECT_TRUE(update());
  ASSERT_THAT(views.current().trainers(), SizeIs(2));
  EXPECT_EQ(views.current().trainers(1).start_clock(), 7u);
  EXPECT_FALSE(update());
  workers.SetTraining(trainer, true, /*start_clock=*/7);
  EXPECT_FALSE(update()) << "it is as it was";
  views.ForgetTrainers("earlier");
  EXPECT_TRUE(update());
  EXPECT_THAT(views.current().trainers(), SizeIs(1));
  (void)workers.TakeSilent(absl::InfiniteFuture());
  EXPECT_TRUE(update());
  EXPECT_THAT(views.current().trainers(), IsEmpty());
}

TEST(ViewGateOfMovesTest, ViewsWithOtherMovesOrCopiesWaitForTheStore) {
  v1::View view;
  view.add_owners(0);
  ViewGate gate(view);
  StateWriter writer(/*durable=*/true);
  gate.Offer(view, writer);
  EXPECT_TRUE(gate.Take(writer)) << "it is stored";
  *view.add_moves() = MoveOf(0, 1);
  gate.Offer(view, writer);
  EXPECT_FALSE(gate.Take(writer));
  ASSERT_TRUE(writer.TakeDue(absl::UnixEpoch()));
  writer.OnStored(absl::OkStatus(), absl::UnixEpoch());
  EXPECT_TRUE(gate.Take(writer));
  view.clear_moves();
  view.add_copies()->set_partition(0);
  gate.Offer(view, writer);
  EXPECT_FALSE(gate.Take(writer));
  ASSERT_TRUE(writer.TakeDue(absl::UnixEpoch()));
  writer.OnStored(absl::OkStatus(), absl::UnixEpoch());
  EXPECT_TRUE(gate.Take(writer));
  view.add_pairs()->set_partition(0);
  gate.Offer(view, writer);
  EXPECT_FALSE(gate.Take(writer)) << "and so do those with other backups";
}

}  // namespace
}  // namespace capstan::chief
