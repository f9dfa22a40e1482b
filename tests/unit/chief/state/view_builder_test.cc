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

TEST(ViewGateTest, ViewsWithOtherMovesOrCopiesWaitForTheStore) {
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
}

}  // namespace
}  // namespace capstan::chief
