#include "ps/shard/chief_replies.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/shard_metrics.h"
#include "tests/unit/ps/shard/replicated_job.h"

namespace capstan::ps {
namespace {

using Limits = std::numeric_limits<double>;

absl::Duration BeatOf(double heartbeat, double lease, uint32_t replicas) {
  v1::JobSpec job;
  job.set_replicas(replicas);
  job.mutable_lease()->set_heartbeat_seconds(heartbeat);
  job.mutable_lease()->set_shard_lease_seconds(lease);
  return HeartbeatOf(job);
}

TEST(HeartbeatOfTest, ALeaseIsRenewedInGoodTimeAndNoNumberMakesAHeartbeatTooRareOrTooOften) {
  EXPECT_EQ(BeatOf(2, 4, /*replicas=*/0), absl::Seconds(2));
  EXPECT_EQ(BeatOf(2, 4, /*replicas=*/1), absl::Seconds(1));
  EXPECT_EQ(BeatOf(1, 8, /*replicas=*/1), absl::Seconds(1));
  EXPECT_EQ(BeatOf(Limits::infinity(), 4, /*replicas=*/0), absl::Seconds(60));
  EXPECT_EQ(BeatOf(Limits::quiet_NaN(), 4, /*replicas=*/0), absl::Milliseconds(10));
  EXPECT_EQ(BeatOf(-1, 4, /*replicas=*/1), absl::Milliseconds(10));
}

// A shard with replicas that has no lease yet.
class ChiefRepliesTest : public ::testing::Test {
 protected:
  ChiefRepliesTest() {
    auto shard = Shard::Create(ReplicatedJob(), {ShardIndex{0}, Incarnation{2}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok() && (*shard)->contents().BeginLoad(1).ok() &&
                  (*shard)->contents().Serve(1, {}).ok());
    shard_ = *std::move(shard);
  }

  // Whether the shard answers an empty pull now.
  bool Serves() {
    v1::PullRequest request;
    request.mutable_header()->set_wire_version(kWireVersion);
    request.mutable_header()->set_timeline(1);
    request.mutable_header()->set_target_incarnation(2);
    const grpc::Slice slice(request.SerializeAsString());
    auto query = PullQuery::Read(grpc::ByteBuffer(&slice, 1), shard_->catalog());
    CAPSTAN_CHECK(query.ok());
    bool served = false;
    (void)shard_->Pull(*std::move(query), absl::InfiniteFuture(),
                       [&served](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
                         served = reply.ok();
                       });
    return served;
  }
  void Grant(double seconds) {
    v1::ShardHeartbeatReply reply;
    reply.set_lease_seconds(seconds);
    TakeLease(reply, clock_.Now(), *shard_);
  }

  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  FakeClock clock_;
  std::unique_ptr<Shard> shard_;
};

TEST_F(ChiefRepliesTest, ALeaseHoldsForAsLongAsTheChiefSaysAndNoNumberMakesItEndless) {
  EXPECT_FALSE(Serves());
  for (const double none : {0.0, -1.0, Limits::quiet_NaN()}) {
    Grant(none);
    EXPECT_FALSE(Serves()) << none;
  }
  Grant(10);
  EXPECT_TRUE(Serves());
  clock_.Advance(absl::Seconds(10));
  EXPECT_FALSE(Serves());
  Grant(Limits::infinity());
  EXPECT_TRUE(Serves());
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(Serves());
}

TEST_F(ChiefRepliesTest, AnotherJobIsRefusedAndNothingOfItIsTakenUp) {
  Places places;
  v1::RegisterShardReply reply;
  *reply.mutable_job() = ReplicatedJob();
  reply.mutable_job()->mutable_checkpoint()->set_uri("/models");
  reply.set_from("/other/job");
  ASSERT_TRUE(LearnFrom(reply, *shard_, places).ok());
  EXPECT_TRUE(places.CheckWrite("/models/1").ok());
  EXPECT_TRUE(places.CheckRead("/other/job/1").ok());

  reply.mutable_job()->mutable_checkpoint()->set_uri("/elsewhere");
  reply.mutable_job()->add_tables()->set_name("another");
  EXPECT_TRUE(absl::IsAborted(LearnFrom(reply, *shard_, places)));
  EXPECT_FALSE(places.CheckWrite("/elsewhere/1").ok());
}

}  // namespace
}  // namespace capstan::ps
