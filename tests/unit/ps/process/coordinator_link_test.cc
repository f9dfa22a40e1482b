// How often a shard asks the coordinator, and which one.
#include "ps/process/coordinator_link.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"
#include "tests/unit/ps/process/fake_shard.h"

namespace capstan::ps {
namespace {

constexpr uint64_t kLinked = 3;  // The timeline that is served.

// Shard 1 of two, which serves partition 1 of a job of one lane. The coordinator is elsewhere.
class CoordinatorLinkTest : public ::testing::Test {
 protected:
  CoordinatorLinkTest() {
    v1::JobSpec job;
    job.set_job("linked");
    job.set_partition_count(2);
    for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
      policy->set_kind(v1::POLICY_KIND_SYNC);
      policy->set_lanes(1);
    }
    auto shard = Shard::Create(job, {ShardIndex{1}, Incarnation{7}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kLinked).ok());
    auto content =
        InitialContent(shard_->catalog(), PartitionIndex{1}, Timeline{kLinked}, shard_->slabs());
    CAPSTAN_CHECK(content.ok());
    shard_->contents().Load(PartitionIndex{1}, *std::move(content));
    CAPSTAN_CHECK(shard_->contents().Serve(kLinked, {}).ok());
    link_.emplace(*shard_, /*tls=*/nullptr, Watched::kCommits);
  }

  // A view in which this shard, in the process `incarnation`, owns partition 0.
  static v1::View ViewWith(const FakeShard& coordinator, uint64_t incarnation) {
    v1::View view;
    view.set_timeline(kLinked);
    for (const uint32_t index : {0u, 1u}) {
      view.add_owners(index);
      v1::ShardInfo& info = *view.add_shards();
      info.set_index(index);
      info.set_incarnation(index == 0 ? incarnation : 7);
      if (index == 0) info.set_address(coordinator.address());
    }
    return view;
  }
  // Until the coordinator has been asked so often, while in each millisecond `passes`.
  void UntilAsked(const FakeShard& coordinator, size_t times, absl::Duration passes = {}) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (coordinator.watches.requests().size() < times) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
      clock_.Advance(passes);
    }
  }

  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
  FakeShard first_;
  FakeShard second_;
  std::optional<CoordinatorLink> link_;
};

TEST_F(CoordinatorLinkTest, TheShardLearnsWhatIsClosedAndAsksAtOnceForTheNext) {
  first_.watches.Set([](const v1::WatchCountsRequest& request,
                        v1::WatchCountsReply& reply) -> std::optional<grpc::Status> {
    if (request.round() == 2) return std::nullopt;
    reply.set_round(2);
    reply.mutable_closed()->set_round(1);
    reply.mutable_closed()->add_lanes()->set_examples(4);
    return grpc::Status::OK;
  });
  link_->SetView(ViewWith(first_, 5));
  UntilAsked(first_, 2);  // No time passes.
  EXPECT_EQ(first_.watches.requests()[0].round(), 0u);
  EXPECT_EQ(first_.watches.requests()[1].round(), 2u);
  v1::PullRequest pull;
  pull.mutable_header()->set_timeline(kLinked);
  pull.set_round(2);
  EXPECT_EQ(shard_->rounds().LearnFrom(pull), absl::OkStatus());
}

TEST_F(CoordinatorLinkTest, WhenPartitionZeroHasMovedTheNextCoordinatorIsAskedAtOnce) {
  link_->SetView(ViewWith(first_, 5));
  UntilAsked(first_, 1);
  link_->SetView(ViewWith(second_, 6));
  UntilAsked(second_, 1);  // No time passes.
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (first_.watches.given_up() < 1) {
    ASSERT_LT(absl::Now(), deadline) << "the call to the former one is over";
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(first_.watches.requests().size(), 1u);
}

// Its calls are cancelled by a coordinator whose rounds are over, too.
TEST_F(CoordinatorLinkTest, ACoordinatorThatRefusesIsAskedAgainAfterAPauseWhateverItSays) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::FAILED_PRECONDITION,
        grpc::StatusCode::CANCELLED}) {
    FakeShard coordinator;
    coordinator.watches.Set([code](const v1::WatchCountsRequest&, v1::WatchCountsReply&) {
      return grpc::Status(code, "not now");
    });
    const absl::Time begun = clock_.Now();
    link_->SetView(ViewWith(coordinator, 100 + static_cast<uint64_t>(code)));
    UntilAsked(coordinator, 4, /*passes=*/absl::Milliseconds(10));
    EXPECT_GE(clock_.Now() - begun, 3 * absl::Milliseconds(200)) << code;
    link_->SetView(ViewWith(second_, 200 + static_cast<uint64_t>(code)));
    UntilAsked(second_, 1);
  }
}

TEST_F(CoordinatorLinkTest, ACoordinatorThatDoesNotKnowTheCallIsLeftInPeace) {
  first_.watches.Set([](const v1::WatchCountsRequest&, v1::WatchCountsReply&) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  });
  const absl::Time begun = clock_.Now();
  link_->SetView(ViewWith(first_, 5));
  UntilAsked(first_, 2, /*passes=*/absl::Seconds(1));
  EXPECT_GE(clock_.Now() - begun, absl::Seconds(30));
}

TEST_F(CoordinatorLinkTest, ALinkEndsThoughTheCoordinatorDoesNotAnswer) {
  link_->SetView(ViewWith(first_, 5));
  UntilAsked(first_, 1);
  link_.reset();
  EXPECT_EQ(first_.watches.requests().size(), 1u);
}

}  // namespace
}  // namespace capstan::ps
