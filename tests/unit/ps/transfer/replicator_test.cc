// What a backup answers when requests come again.
#include "ps/transfer/replicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/event_loop.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "tests/unit/ps/shard/replicated_job.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kOwner = 7;
constexpr uint64_t kStranger = 9;  // A shard of the job that owns nothing.

// The partition of kOwner, which this shard backs up by the pair 1.1.
v1::View ReplicatedView() {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  view.add_owners(0);
  for (const uint64_t incarnation : {kOwner, uint64_t{2}, kStranger}) {
    v1::ShardInfo& shard = *view.add_shards();
    shard.set_index(static_cast<uint32_t>(view.shards_size() - 1));
    shard.set_incarnation(incarnation);
  }
  v1::PartitionPair& pair = *view.add_pairs();
  pair.set_backup(1);
  pair.set_backup_incarnation(2);
  *pair.mutable_id() = view.epoch();
  return view;
}

// A shard whose backup has not come: it refuses what is of the pair.
class ReplicatorTest : public ::testing::Test {
 protected:
  ReplicatorTest() {
    auto shard = Shard::Create(ReplicatedJob(), {ShardIndex{1}, Incarnation{2}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    CAPSTAN_CHECK(shard_->SetView(ReplicatedView()).ok());
    shard_->view().Followed({.term = 1, .n = 1});
    replicator_ = std::make_unique<Replicator>(*shard_);
  }

  // Operations `first` and the next: what nobody wants any more, and one of a pair.
  static v1::ReplicateRequest RequestFrom(uint64_t first) {
    v1::ReplicateRequest request;
    request.set_source(kOwner);
    request.set_stream(1);
    request.set_first(first);
    request.add_operations();
    v1::Operation& refused = *request.add_operations();
    refused.mutable_pair();
    refused.mutable_close()->set_stream(5);
    return request;
  }

  absl::StatusOr<v1::ReplicateReply> Take(const v1::ReplicateRequest& request) {
    const auto message = ReplicateMessage::Read(EventLoop::Serialize(request));
    CAPSTAN_CHECK(message.ok());
    return replicator_->Take(**message);
  }

  const FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<Replicator> replicator_;
};

TEST_F(ReplicatorTest, WhatWasRefusedIsNotTakenForCarriedOutWhenTheAnswerIsLost) {
  const auto lost = Take(RequestFrom(1));
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->taken(), 2u);
  EXPECT_THAT(lost->refused(), ElementsAre(2));

  const auto again = Take(RequestFrom(1));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->taken(), 2u);
  EXPECT_THAT(again->refused(), ElementsAre(2));
}

TEST_F(ReplicatorTest, WhatTheOwnerHasHeardOfIsNotSaidAgain) {
  ASSERT_TRUE(Take(RequestFrom(1)).ok());
  v1::ReplicateRequest next = RequestFrom(3);
  next.mutable_operations()->RemoveLast();
  const auto reply = Take(next);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->taken(), 3u);
  EXPECT_THAT(reply->refused(), IsEmpty());
}

TEST_F(ReplicatorTest, AProcessThatIsInNoViewIsNotListenedTo) {
  v1::ReplicateRequest request = RequestFrom(1);
  request.set_source(12345);
  EXPECT_TRUE(absl::IsUnavailable(Take(request).status()));
}

TEST_F(ReplicatorTest, WhatAShardTellsOfThePairOfAnotherOneIsNotCarriedOut) {
  v1::ReplicateRequest request = RequestFrom(1);
  *request.mutable_operations(1)->mutable_pair() = ReplicatedView().epoch();
  request.set_source(kStranger);
  EXPECT_EQ(Take(request)->taken(), 1u) << "nobody wants the first one any more";
  request.set_source(kOwner);
  EXPECT_EQ(Take(request)->taken(), 2u);
}

TEST_F(ReplicatorTest, OfRoundsAndClocksOnlyAnOwnerThatIsBackedUpHereTells) {
  v1::ReplicateRequest request;
  request.set_stream(1);
  request.set_first(1);
  v1::Operation& closed = *request.add_operations();
  closed.mutable_closed()->set_round(1);
  closed.mutable_pair()->set_term(9);  // It is of no pair, whatever it says.
  request.add_operations()->mutable_clock()->set_clock(5);
  request.set_source(kStranger);
  EXPECT_EQ(Take(request)->taken(), 0u);
  request.set_source(kOwner);
  EXPECT_EQ(Take(request)->taken(), 2u);
}

}  // namespace
}  // namespace capstan::ps
