// When the chief's state is written, and what others may hear of before.
#include "chief/state_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chief/view_gate.h"

namespace capstan::chief {
namespace {

const absl::Time kBegin = absl::UnixEpoch() + absl::Hours(1);

TEST(StateKeeperTest, WritesWhatIsUrgentAtOnceAndTheRestOnceASecond) {
  StateKeeper keeper(/*durable=*/true);
  EXPECT_FALSE(keeper.TakeDue(kBegin)) << "nothing has changed";
  (void)keeper.Require();
  EXPECT_TRUE(keeper.TakeDue(kBegin));
  keeper.OnStored(absl::OkStatus(), kBegin);
  (void)keeper.Note();
  EXPECT_FALSE(keeper.TakeDue(kBegin + absl::Milliseconds(900)));
  EXPECT_TRUE(keeper.TakeDue(kBegin + absl::Seconds(1)));
}

TEST(StateKeeperTest, ATicketStandsWhenAWriteThatBeganLaterHasEnded) {
  StateKeeper keeper(/*durable=*/true);
  const StateKeeper::Ticket first = keeper.Require();
  ASSERT_TRUE(keeper.TakeDue(kBegin));
  const StateKeeper::Ticket second = keeper.Require();
  EXPECT_FALSE(keeper.TakeDue(kBegin)) << "one at a time";
  keeper.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(keeper.Stands(first));
  EXPECT_FALSE(keeper.Stands(second)) << "the write had begun before";
  ASSERT_TRUE(keeper.TakeDue(kBegin));
  keeper.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(keeper.Stands(second));
  EXPECT_TRUE(keeper.settled());
}

TEST(StateKeeperTest, TriesAgainAfterAFailureWithLongerPauses) {
  StateKeeper keeper(/*durable=*/true);
  const StateKeeper::Ticket ticket = keeper.Require();
  absl::Time now = kBegin;
  int tries = 0;
  for (; now < kBegin + absl::Minutes(1); now += absl::Milliseconds(100)) {
    if (!keeper.TakeDue(now)) continue;
    ++tries;
    keeper.OnStored(absl::UnavailableError("away"), now);
  }
  EXPECT_GT(tries, 10);
  EXPECT_LT(tries, 25);
  EXPECT_FALSE(keeper.Stands(ticket));
  EXPECT_FALSE(keeper.superseded());
}

TEST(StateKeeperTest, StopsWhenAnotherChiefHasWritten) {
  StateKeeper keeper(/*durable=*/true);
  (void)keeper.Require();
  ASSERT_TRUE(keeper.TakeDue(kBegin));
  keeper.OnStored(absl::AbortedError("term 2"), kBegin);
  EXPECT_TRUE(keeper.superseded());
  EXPECT_FALSE(keeper.TakeDue(kBegin + absl::Hours(1)));
}

TEST(StateKeeperTest, WithoutAStoreEverythingStandsAtOnce) {
  StateKeeper keeper(/*durable=*/false);
  EXPECT_TRUE(keeper.Stands(keeper.Require()));
  EXPECT_FALSE(keeper.TakeDue(kBegin));
}

v1::View ViewOf(uint64_t n, uint64_t timeline, uint64_t incarnation) {
  v1::View view;
  view.mutable_epoch()->set_n(n);
  view.set_timeline(timeline);
  view.add_owners(0);
  view.add_shards()->set_incarnation(incarnation);
  return view;
}

TEST(ViewGateTest, HoldsBackAnotherIncarnationAndTimelineUntilTheyAreStored) {
  StateKeeper keeper(/*durable=*/true);
  ViewGate gate(ViewOf(1, 1, 7));
  gate.Offer(ViewOf(1, 1, 7), keeper);
  EXPECT_TRUE(gate.Take(keeper).has_value()) << "this is what the store holds";
  for (const v1::View& view : {ViewOf(2, 1, 8), ViewOf(3, 2, 8)}) {
    gate.Offer(view, keeper);
    EXPECT_FALSE(gate.Take(keeper).has_value());
    ASSERT_TRUE(keeper.TakeDue(kBegin));
    keeper.OnStored(absl::OkStatus(), kBegin);
    EXPECT_EQ(gate.Take(keeper)->epoch().n(), view.epoch().n());
  }
}

TEST(ViewGateTest, PublishesWhoTrainsAtOnceButNotBeforeWhatIsHeldBack) {
  StateKeeper keeper(/*durable=*/true);
  ViewGate gate(ViewOf(1, 1, 7));
  v1::View members = ViewOf(2, 1, 7);
  members.add_members()->set_member(5);
  gate.Offer(members, keeper);
  EXPECT_TRUE(gate.Take(keeper).has_value());
  gate.Offer(ViewOf(3, 1, 8), keeper);
  v1::View both = ViewOf(4, 1, 8);
  both.add_members()->set_member(6);
  gate.Offer(both, keeper);
  EXPECT_FALSE(gate.Take(keeper).has_value());
  ASSERT_TRUE(keeper.TakeDue(kBegin));
  keeper.OnStored(absl::OkStatus(), kBegin);
  EXPECT_EQ(gate.Take(keeper)->epoch().n(), 4u) << "the newest wins";
}

}  // namespace
}  // namespace capstan::chief
