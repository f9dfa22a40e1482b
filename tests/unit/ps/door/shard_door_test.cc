#include "ps/door/shard_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/message/rpc_method.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/security/role.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kTimeline = 3;
constexpr uint64_t kSelf = 7;  // The incarnation of the shard.

v1::JobSpec SynchronousJob() {
  v1::JobSpec job;
  job.set_job("synchronous");
  job.set_partition_count(1);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(1);
  }
  return job;
}

// A shard that owns the only partition, in a view of term 2.
class ShardDoorTest : public ::testing::Test {
 protected:
  ShardDoorTest() {
    auto shard =
        Shard::Create(SynchronousJob(), {ShardIndex{0}, Incarnation{kSelf}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    mover_.emplace(*shard_, Mover::Backgrounds{.gentle = threads_, .hasty = threads_},
                   /*open_peer=*/nullptr);
    saver_.emplace(*shard_, Outside{.background = threads_});
    loader_.emplace(*shard_, Outside{.background = threads_});
    staged_.emplace(*shard_, threads_);
    replicator_.emplace(*shard_);
    served_.emplace(ServedShard{*shard_, *saver_, *loader_, *mover_, *staged_, *replicator_});
  }

  ShardDoor door() const { return ShardDoor(&*served_); }

  static v1::RequestHeader Header(uint64_t timeline = kTimeline, uint64_t term = 2,
                                  uint64_t view = 1) {
    v1::RequestHeader header;
    header.set_wire_version(kWireVersion);
    header.set_target_incarnation(kSelf);
    header.set_timeline(timeline);
    header.mutable_epoch()->set_term(term);
    header.mutable_epoch()->set_n(view);
    return header;
  }

  // The shard has loaded its partition, and has done what its view says.
  void BecomeReady() {
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kTimeline).ok());
    v1::View view;
    *view.mutable_epoch() = Header().epoch();
    view.set_timeline(kTimeline);
    view.add_owners(0);
    view.add_shards()->set_incarnation(kSelf);
    CAPSTAN_CHECK(shard_->SetView(view).ok());
    v1::LoadPartitionsRequest order;
    *order.mutable_header() = Header();
    order.add_partitions(0);
    while (!loader_->Order(order).value().done()) absl::SleepFor(absl::Milliseconds(1));
    shard_->view().Followed({.term = Header().epoch().term(), .n = Header().epoch().n()});
  }

  template <typename Request>
  static Request WithHeader(const v1::RequestHeader& header) {
    Request request;
    *request.mutable_header() = header;
    return request;
  }
  static absl::Status Order(const ShardDoor& door, const AnyMessage& order) {
    std::optional<absl::Status> told;
    door.Order(order, absl::Seconds(20),
               [&told](const absl::StatusOr<AnyMessage>& reply) { told = reply.status(); });
    return told.value_or(absl::UnknownError("there was no answer"));
  }
  static absl::Status Flush(const ShardDoor& door, const v1::RequestHeader& header) {
    return Order(door, WithHeader<v1::FlushRequest>(header));
  }

  FakeClock clock_;
  Threads threads_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
  std::optional<Saver> saver_;
  std::optional<Loader> loader_;
  std::optional<Mover> mover_;
  std::optional<StagedPartitions> staged_;
  std::optional<Replicator> replicator_;
  std::optional<ServedShard> served_;
};

TEST_F(ShardDoorTest, WhileItsJobIsNotKnownEachCallIsToBeMadeAgain) {
  const ShardDoor closed(nullptr);
  EXPECT_TRUE(absl::IsUnavailable(closed.ForData(Header()).status()));
  EXPECT_TRUE(absl::IsUnavailable(closed.ForOrder(Header()).status()));
  EXPECT_TRUE(absl::IsUnavailable(closed.ReadPull(grpc::ByteBuffer()).status()));
  EXPECT_TRUE(absl::IsUnavailable(closed.ReadPush(grpc::ByteBuffer()).status()));
  EXPECT_TRUE(absl::IsUnavailable(closed.ForLoad(Header()).status()));
}

// By their proto: an RPC that is forgotten at the door is found here.
TEST_F(ShardDoorTest, WhatTheChiefMayCallAreTheOrdersThatTheShardKnows) {
  const ShardDoor closed(nullptr);
  const google::protobuf::ServiceDescriptor& service =
      *MethodOf(*v1::PullRequest::descriptor()).service();
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& rpc = *service.method(i);
    const absl::Status told = Order(closed, AnyMessage(NewMessage(*rpc.input_type())));
    EXPECT_EQ(told.code(), MayCall(Role::kChief, PathOf(rpc)) ? absl::StatusCode::kUnavailable
                                                              : absl::StatusCode::kUnimplemented)
        << rpc.name();
  }
}

TEST_F(ShardDoorTest, OnlyALoadIsCarriedOutBeforeTheTimelineIsServed) {
  EXPECT_TRUE(absl::IsUnavailable(door().ForData(Header()).status()));
  EXPECT_TRUE(absl::IsUnavailable(Flush(door(), Header())));
  EXPECT_TRUE(absl::IsUnavailable(Order(door(), WithHeader<v1::SavePartitionsRequest>(Header()))));
  CAPSTAN_CHECK(shard_->contents().BeginLoad(kTimeline).ok());
  EXPECT_TRUE(Order(door(), WithHeader<v1::LoadPartitionsRequest>(Header())).ok());
}

TEST_F(ShardDoorTest, AnOrderOfAnEarlierChiefIsRefusedAndARequestForParametersIsNot) {
  BecomeReady();
  EXPECT_TRUE(Flush(door(), Header()).ok());
  const absl::Status refused = Flush(door(), Header(kTimeline, /*term=*/1));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the order is of term 1"));
  EXPECT_TRUE(door().ForData(Header(kTimeline, /*term=*/1)).ok());
}

TEST_F(ShardDoorTest, AnOrderThatGoesByAViewThatIsStillOnItsWayHasToWaitForIt) {
  BecomeReady();
  const absl::Status refused = Flush(door(), Header(kTimeline, 2, /*view=*/2));
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_TRUE(door().ForData(Header(kTimeline, 2, /*view=*/2)).ok());
}

TEST_F(ShardDoorTest, WhatIsOfAnotherTimelineIsRefused) {
  BecomeReady();
  EXPECT_TRUE(absl::IsFailedPrecondition(door().ForData(Header(kTimeline + 1)).status()));
  v1::PullRequest pull = WithHeader<v1::PullRequest>(Header(kTimeline + 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(door().ReadPull(EventLoop::Serialize(pull)).status()));
  v1::PushRequest push = WithHeader<v1::PushRequest>(Header(kTimeline + 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(door().ReadPush(EventLoop::Serialize(push)).status()));
}

TEST_F(ShardDoorTest, ACallThatWaitsIsAnsweredBeforeItsCallerGivesUp) {
  BecomeReady();
  v1::OpenRoundRequest open = WithHeader<v1::OpenRoundRequest>(Header());
  open.mutable_generation()->set_term(1);
  open.mutable_generation()->set_count(1);
  door().OpenRound(open, [](const absl::StatusOr<v1::OpenRoundReply>& reply) {
    EXPECT_TRUE(reply.ok()) << reply.status();
  });
  v1::WatchCountsRequest watch = WithHeader<v1::WatchCountsRequest>(Header());
  watch.set_round(1);
  std::optional<absl::Status> told;
  const auto waiter = door().WatchCounts(
      watch, absl::Seconds(20),
      [&told](const absl::StatusOr<v1::WatchCountsReply>& reply) { told = reply.status(); });
  EXPECT_TRUE(waiter.has_value());
  shard_->Tick();
  EXPECT_FALSE(told.has_value()) << "no lane has reported; " << *told;
  // gRPC may have told of 100 ms too many, the shard looks once a tick, and the answer takes time.
  clock_.Advance(absl::Seconds(20) - absl::Milliseconds(100) - 2 * Shard::kTick);
  shard_->Tick();
  EXPECT_TRUE(told.has_value());
}

}  // namespace
}  // namespace capstan::ps
