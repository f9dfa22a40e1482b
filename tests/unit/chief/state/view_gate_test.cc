// What others may hear of only once it is stored.
#include "chief/state/view_gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace capstan::chief {
namespace {

// The store holds view 1: shard 0, of incarnation 7, owns the only partition in timeline 1.
class ViewGateTest : public testing::Test {
 protected:
  static v1::View Of(uint64_t n, uint64_t timeline, uint64_t incarnation) {
    v1::View view;
    view.mutable_epoch()->set_n(n);
    view.set_timeline(timeline);
    view.add_owners(0);
    view.add_shards()->set_incarnation(incarnation);
    return view;
  }
  static v1::View Stored() { return Of(1, 1, 7); }

  // A write that begins now ends with success.
  void Store() {
    ASSERT_TRUE(writer_.TakeDue(now_));
    writer_.OnStored(absl::OkStatus(), now_);
  }
  // The number of the view that is published now; 0: none is.
  uint64_t Published() {
    const std::optional<v1::View> view = gate_.Take(writer_);
    return view ? view->epoch().n() : 0;
  }

  const absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  StateWriter writer_{/*durable=*/true};
  ViewGate gate_{Stored()};
};

TEST_F(ViewGateTest, HoldsBackAnotherIncarnationAndTimelineUntilTheyAreStored) {
  gate_.Offer(Stored(), writer_);
  EXPECT_EQ(Published(), 1u) << "this is what the store holds";
  for (const v1::View& view : {Of(2, 1, 8), Of(3, 2, 8)}) {
    gate_.Offer(view, writer_);
    EXPECT_EQ(Published(), 0u);
    Store();
    EXPECT_EQ(Published(), view.epoch().n());
  }
}

TEST_F(ViewGateTest, PublishesWhoTrainsAtOnceButNotBeforeWhatIsHeldBack) {
  v1::View trainers = Of(2, 1, 7);
  trainers.add_trainers()->set_trainer(5);
  gate_.Offer(trainers, writer_);
  EXPECT_EQ(Published(), 2u);
  gate_.Offer(Of(3, 1, 8), writer_);
  v1::View both = Of(4, 1, 8);
  both.add_trainers()->set_trainer(6);
  gate_.Offer(both, writer_);
  EXPECT_EQ(Published(), 0u);
  EXPECT_EQ(gate_.published().epoch().n(), 2u);
  Store();
  EXPECT_EQ(Published(), 4u) << "the newest wins";
}

TEST_F(ViewGateTest, HoldsBackWhateverSaysWhoServesAPartition) {
  using Change = std::function<void(v1::View&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"owner", [](v1::View& view) { view.set_owners(0, 1); }},
      {"move", [](v1::View& view) { view.add_moves()->set_to(1); }},
      {"copy", [](v1::View& view) { view.add_copies()->mutable_move()->set_n(1); }},
      {"backup", [](v1::View& view) { view.add_pairs()->set_backup(1); }},
      {"another shard", [](v1::View& view) { view.add_shards()->set_index(1); }},
  };
  for (const auto& [what, change] : changes) {
    StateWriter writer(/*durable=*/true);
    ViewGate gate(Stored());
    v1::View view = Of(2, 1, 7);
    change(view);
    gate.Offer(view, writer);
    EXPECT_FALSE(gate.Take(writer)) << what;
    EXPECT_TRUE(writer.TakeDue(now_)) << what << " is written at once";
  }
}

TEST_F(ViewGateTest, PublishesAtOnceWhereAShardIsAndWhetherItLeaves) {
  v1::View view = Of(2, 1, 7);
  view.mutable_shards(0)->set_address("elsewhere:1");
  view.mutable_shards(0)->set_draining(true);
  view.set_state(v1::JOB_STATE_RUNNING);
  gate_.Offer(view, writer_);
  EXPECT_EQ(Published(), 2u);
  EXPECT_EQ(Published(), 0u) << "once";
}

TEST_F(ViewGateTest, AViewWithoutAMapNeedNotBeStored) {
  v1::View view = Of(2, 9, 8);
  view.clear_owners();
  gate_.Offer(view, writer_);
  EXPECT_EQ(Published(), 2u);
  gate_.Offer(Of(3, 9, 8), writer_);
  EXPECT_EQ(Published(), 0u) << "now there is a map";
}

TEST_F(ViewGateTest, WhatGoesBackToTheStoredViewWaitsForTheWriteOfTheOther) {
  gate_.Offer(Of(2, 1, 8), writer_);
  ASSERT_TRUE(writer_.TakeDue(now_));
  gate_.Offer(Of(3, 1, 7), writer_);
  writer_.OnStored(absl::OkStatus(), now_);
  EXPECT_EQ(Published(), 0u) << "the store holds incarnation 8";
  Store();
  EXPECT_EQ(Published(), 3u);
}

TEST_F(ViewGateTest, AFailedWritePublishesNothing) {
  gate_.Offer(Of(2, 1, 8), writer_);
  ASSERT_TRUE(writer_.TakeDue(now_));
  writer_.OnStored(absl::UnavailableError("away"), now_);
  EXPECT_EQ(Published(), 0u);
}

TEST_F(ViewGateTest, WithoutAStoreEveryViewIsPublishedAtOnce) {
  StateWriter nowhere(/*durable=*/false);
  gate_.Offer(Of(2, 5, 8), nowhere);
  EXPECT_TRUE(gate_.Take(nowhere));
}

}  // namespace
}  // namespace capstan::chief
