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

// A shard that backs nothing up: it refuses what is of a pair.
class ReplicatorTest : public ::testing::Test {
 protected:
  ReplicatorTest() {
    auto shard = Shard::Create(ReplicatedJob(), {ShardIndex{1}, Incarnation{2}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
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

}  // namespace
}  // namespace capstan::ps
