// When the chief's state is written, and what others may hear of before.
#include "chief/state/state_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chief/state/view_gate.h"

namespace capstan::chief {
namespace {

const absl::Time kBegin = absl::UnixEpoch() + absl::Hours(1);

TEST(StateWriterTest, WritesWhatIsUrgentAtOnceAndTheRestOnceASecond) {
  StateWriter coordinator(/*durable=*/true);
  EXPECT_FALSE(coordinator.TakeDue(kBegin)) << "nothing has changed";
  (void)coordinator.Require();
  EXPECT_TRUE(coordinator.TakeDue(kBegin));
  coordinator.OnStored(absl::OkStatus(), kBegin);
  (void)coordinator.Note();
  EXPECT_FALSE(coordinator.TakeDue(kBegin + absl::Milliseconds(900)));
  EXPECT_TRUE(coordinator.TakeDue(kBegin + absl::Seconds(1)));
}

TEST(StateWriterTest, ATicketStandsWhenAWriteThatBeganLaterHasEnded) {
  StateWriter coordinator(/*durable=*/true);
  const StateWriter::Ticket first = coordinator.Require();
  ASSERT_TRUE(coordinator.TakeDue(kBegin));
  const StateWriter::Ticket second = coordinator.Require();
  EXPECT_FALSE(coordinator.TakeDue(kBegin)) << "one at a time";
  coordinator.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(coordinator.Stands(first));
  EXPECT_FALSE(coordinator.Stands(second)) << "the write had begun before";
  ASSERT_TRUE(coordinator.TakeDue(kBegin));
  coordinator.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(coordinator.Stands(second));
  EXPECT_TRUE(coordinator.settled());
}

TEST(StateWriterTest, TriesAgainAfterAFailureWithLongerPauses) {
  StateWriter coordinator(/*durable=*/true);
  const StateWriter::Ticket ticket = coordinator.Require();
  absl::Time now = kBegin;
  int tries = 0;
  for (; now < kBegin + absl::Minutes(1); now += absl::Milliseconds(100)) {
    if (!coordinator.TakeDue(now)) continue;
    ++tries;
    coordinator.OnStored(absl::UnavailableError("away"), now);
  }
  EXPECT_GT(tries, 10);
  EXPECT_LT(tries, 25);
  EXPECT_FALSE(coordinator.Stands(ticket));
  EXPECT_FALSE(coordinator.superseded());
}

TEST(StateWriterTest, StopsWhenAnotherChiefHasWritten) {
  StateWriter coordinator(/*durable=*/true);
  (void)coordinator.Require();
  ASSERT_TRUE(coordinator.TakeDue(kBegin));
  coordinator.OnStored(absl::AbortedError("term 2"), kBegin);
  EXPECT_TRUE(coordinator.superseded());
  EXPECT_FALSE(coordinator.TakeDue(kBegin + absl::Hours(1)));
}

TEST(StateWriterTest, WithoutAStoreEverythingStandsAtOnce) {
  StateWriter coordinator(/*durable=*/false);
  EXPECT_TRUE(coordinator.Stands(coordinator.Require()));
  EXPECT_FALSE(coordinator.TakeDue(kBegin));
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
  StateWriter coordinator(/*durable=*/true);
  ViewGate gate(ViewOf(1, 1, 7));
  gate.Offer(ViewOf(1, 1, 7), coordinator);
  EXPECT_TRUE(gate.Take(coordinator).has_value()) << "this is what the store holds";
  for (const v1::View& view : {ViewOf(2, 1, 8), ViewOf(3, 2, 8)}) {
    gate.Offer(view, coordinator);
    EXPECT_FALSE(gate.Take(coordinator).has_value());
    ASSERT_TRUE(coordinator.TakeDue(kBegin));
    coordinator.OnStored(absl::OkStatus(), kBegin);
    EXPECT_EQ(gate.Take(coordinator)->epoch().n(), view.epoch().n());
  }
}

TEST(ViewGateTest, PublishesWhoTrainsAtOnceButNotBeforeWhatIsHeldBack) {
  StateWriter coordinator(/*durable=*/true);
  ViewGate gate(ViewOf(1, 1, 7));
  v1::View trainers = ViewOf(2, 1, 7);
  trainers.add_trainers()->set_trainer(5);
  gate.Offer(trainers, coordinator);
  EXPECT_TRUE(gate.Take(coordinator).has_value());
  gate.Offer(ViewOf(3, 1, 8), coordinator);
  v1::View both = ViewOf(4, 1, 8);
  both.add_trainers()->set_trainer(6);
  gate.Offer(both, coordinator);
  EXPECT_FALSE(gate.Take(coordinator).has_value());
  ASSERT_TRUE(coordinator.TakeDue(kBegin));
  coordinator.OnStored(absl::OkStatus(), kBegin);
  EXPECT_EQ(gate.Take(coordinator)->epoch().n(), 4u) << "the newest wins";
}

}  // namespace
}  // namespace capstan::chief
