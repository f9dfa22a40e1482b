// A shard's data path, and the chief's calls to it.
#include "ps/shard/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/event_loop.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kShardTimeline = 3;
constexpr uint32_t kOfShard = 2;  // Partitions, each with a tensor of two weights.

v1::JobSpec JobOfPolicy(v1::PolicyKind policy, uint32_t aggregate = 1) {
  v1::JobSpec job;
  job.set_job("sharded");
  job.set_partition_count(kOfShard);
  for (v1::UpdatePolicy* of : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    of->set_kind(policy);
    if (policy == v1::POLICY_KIND_SYNC) of->set_lanes(2);
    if (policy == v1::POLICY_KIND_ASYNC) of->set_aggregate(aggregate);
  }
  for (const char* name : {"a", "b"}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(name);
    tensor.add_shape(2);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    tensor.mutable_optimizer()->set_learning_rate(1);
  }
  return job;
}

// A shard that serves both partitions.
struct ServingShard {
  explicit ServingShard(const v1::JobSpec& job) {
    auto made = Shard::Create(job, {ShardIndex{0}, Incarnation{7}}, metrics, clock);
    CAPSTAN_CHECK(made.ok());
    shard = *std::move(made);
    CAPSTAN_CHECK(shard->contents().BeginLoad(kShardTimeline).ok());
    for (uint32_t i = 0; i < kOfShard; ++i) {
      const auto partition = static_cast<PartitionIndex>(i);
      auto content =
          InitialContent(shard->catalog(), partition, Timeline{kShardTimeline}, shard->slabs());
      CAPSTAN_CHECK(content.ok());
      shard->contents().Load(partition, *std::move(content));
    }
    CAPSTAN_CHECK(shard->contents().Serve(kShardTimeline, {}).ok());
  }

  // A gradient for both partitions, still without a name.
  v1::PushRequest Gradient() const {
    const float values[] = {1, 1};
    v1::PushRequest push;
    push.mutable_header()->set_wire_version(kWireVersion);
    push.mutable_header()->set_target_incarnation(7);
    push.mutable_header()->set_timeline(kShardTimeline);
    push.set_examples(1);
    for (uint32_t i = 0; i < kOfShard; ++i) {
      v1::PartitionGradient& to = *push.add_partitions();
      to.set_partition(i);
      const auto index = static_cast<PartitionIndex>(i);
      v1::BlockGradient& block = *to.add_blocks();
      block.set_block(Raw(shard->catalog().layout().blocks_of(index)[0]));
      block.set_values(values, sizeof(values));
    }
    return push;
  }
  v1::PushRequest OfStream(uint64_t seq) const {
    v1::PushRequest push = Gradient();
    push.mutable_stream()->set_stream(41);
    push.mutable_stream()->set_seq(seq);
    return push;
  }
  v1::PushRequest OfLane(uint32_t lane) const {
    v1::PushRequest push = Gradient();
    push.mutable_stage()->set_lane(lane);
    push.mutable_stage()->set_round(1);
    push.mutable_stage()->mutable_generation()->set_count(1 + lane);
    return push;
  }
  absl::Status Read(const v1::PushRequest& push) {
    return shard->ReadPush(EventLoop::Serialize(push)).status();
  }
  v1::PushReply Push(const v1::PushRequest& push) {
    auto message = shard->ReadPush(EventLoop::Serialize(push));
    CAPSTAN_CHECK(message.ok());
    auto pushed = shard->Push(*message);
    CAPSTAN_CHECK(pushed.ok());
    return pushed->reply;
  }
  // Pulls partition 0 as a trainer that has finished `clock` steps. Nothing: the pull waits.
  std::optional<WaiterId> Pull(uint64_t clock, std::optional<absl::Status>& told,
                               bool evaluation = false) {
    v1::PullRequest pull;
    pull.mutable_header()->set_timeline(kShardTimeline);
    pull.mutable_header()->set_trainer(5);
    pull.mutable_header()->set_clock(clock);
    pull.set_evaluation(evaluation);
    pull.add_partitions();
    auto query = PullQuery::Read(EventLoop::Serialize(pull), shard->catalog());
    CAPSTAN_CHECK(query.ok());
    return shard->Pull(*std::move(query), this->clock.Now() + absl::Seconds(20),
                       [&told](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
                         told = reply.status();
                       });
  }
  Partition& partition(int index) {
    return shard->partitions()[static_cast<PartitionIndex>(index)];
  }

  FakeClock clock;
  metrics::Registry registry;
  ShardMetrics metrics{registry};
  std::unique_ptr<Shard> shard;
};

TEST(ShardTest, AJobThatHasBegunAnewWithOtherTensorsIsNotItsJobAnyMore) {
  const v1::JobSpec job = JobOfPolicy(v1::POLICY_KIND_ASYNC);
  ServingShard subject(job);
  v1::JobSpec longer = job;
  longer.mutable_train()->set_max_steps(100);
  EXPECT_EQ(subject.shard->LearnJob(longer), absl::OkStatus());
  v1::JobSpec other = job;
  other.mutable_tensors(1)->set_shape(0, 3);
  const absl::Status refused = subject.shard->LearnJob(other);
  EXPECT_TRUE(absl::IsAborted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("job sharded has begun anew"));
}

TEST(ShardTest, AViewOfALaterTimelineEndsServingAndOneThatIsNotNewerDoesNothing) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_ASYNC));
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(2);
  view.set_timeline(kShardTimeline);
  ASSERT_EQ(subject.shard->SetView(view), absl::OkStatus());
  view.set_timeline(kShardTimeline + 1);
  EXPECT_EQ(subject.shard->SetView(view), absl::OkStatus());
  EXPECT_TRUE(subject.shard->ready()) << "of the same epoch";
  view.mutable_epoch()->set_n(3);
  v1::View wrong = view;
  wrong.add_owners(0);
  EXPECT_TRUE(absl::IsInvalidArgument(subject.shard->SetView(wrong)));
  EXPECT_TRUE(subject.shard->ready());
  EXPECT_EQ(subject.shard->SetView(view), absl::OkStatus());
  EXPECT_FALSE(subject.shard->ready());
}

TEST(ShardTest, APushThatComesAgainIsSettledAndOneThatIsRefusedInPartIsToComeAgain) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_ASYNC));
  const v1::PushReply first = subject.Push(subject.OfStream(0));
  EXPECT_EQ(first.partitions(0).dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(first.partitions(1).dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(first.retry_after_seconds(), 0);
  EXPECT_FALSE(first.asks_for_commits());
  EXPECT_EQ(subject.Push(subject.OfStream(0)).partitions(1).dense(), v1::OUTCOME_SETTLED);
  ASSERT_EQ(
      subject.partition(1).FreezeForMove(Timeline{kShardTimeline}, {1, 5}, subject.clock.Now()),
      absl::OkStatus());
  const v1::PushReply second = subject.Push(subject.OfStream(1));
  EXPECT_EQ(second.partitions(0).dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(second.partitions(1).dense(), v1::OUTCOME_BUSY);
  EXPECT_GT(second.retry_after_seconds(), 0);
}

TEST(ShardTest, WhereGradientsTakeAllTheMemoryOnlyTheOneWhoseTurnItIsIsLetIn) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_SYNC));
  subject.shard->waiting_gradients().SetLimit(0);
  EXPECT_TRUE(absl::IsResourceExhausted(subject.Read(subject.OfLane(1))));
  EXPECT_EQ(subject.Read(subject.OfLane(0)), absl::OkStatus());
  EXPECT_EQ(subject.shard->waiting_gradients().held(), 0u) << "it was read, and not kept";
  v1::PushRequest elsewhere = subject.OfLane(0);
  elsewhere.mutable_header()->set_timeline(kShardTimeline + 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.Read(elsewhere)));
  v1::PushRequest ahead = subject.OfLane(0);
  ahead.mutable_stage()->set_round(2);
  EXPECT_TRUE(absl::IsOutOfRange(subject.Read(ahead))) << "the commit of round 1 is not known";
}

TEST(ShardTest, AFlushIsOfAllPartitions) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_ASYNC, /*aggregate=*/3));
  ASSERT_EQ(subject.Push(subject.OfStream(0)).partitions(0).dense(), v1::OUTCOME_QUEUED);
  ReplicaWait nobody;
  EXPECT_EQ(subject.shard->Flush(nobody), kOfShard);
  EXPECT_EQ(subject.shard->Flush(nobody), 0u);
}

TEST(ShardTest, ACommitIsPassedEverywhereOrItIsToldWhereItIsNot) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_SYNC));
  v1::CommitRoundRequest commit;
  commit.mutable_header()->set_timeline(kShardTimeline);
  commit.mutable_closed()->set_round(1);
  ReplicaWait nobody;
  EXPECT_EQ(subject.shard->CommitRound(commit, nobody), absl::OkStatus());
  EXPECT_EQ(subject.shard->CommitRound(commit, nobody), absl::OkStatus());
  ASSERT_EQ(
      subject.partition(1).FreezeForMove(Timeline{kShardTimeline}, {1, 5}, subject.clock.Now()),
      absl::OkStatus());
  commit.mutable_closed()->set_round(2);
  const absl::Status refused = subject.shard->CommitRound(commit, nobody);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("partition 1: it has passed round 1"));
}

TEST(ShardTest, StreamsOfAnotherTimelineAreNotClosed) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_ASYNC));
  ASSERT_EQ(subject.Push(subject.OfStream(0)).partitions(0).dense(), v1::OUTCOME_APPLIED);
  v1::CloseStreamsRequest close;
  close.mutable_header()->set_timeline(kShardTimeline + 1);
  close.add_streams()->set_stream(41);
  close.mutable_streams(0)->set_batches(1);
  ReplicaWait nobody;
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.shard->CloseStreams(close, nobody)));
  EXPECT_EQ(subject.Push(subject.OfStream(1)).partitions(0).dense(), v1::OUTCOME_APPLIED);
  close.mutable_header()->set_timeline(kShardTimeline);
  EXPECT_EQ(subject.shard->CloseStreams(close, nobody), absl::OkStatus());
  EXPECT_EQ(subject.Push(subject.OfStream(2)).partitions(1).dense(), v1::OUTCOME_SETTLED);
}

TEST(ShardTest, APullThatWaitsForSlowerTrainersEndsAtItsDeadlineAndAnEvaluationWaitsForNobody) {
  ServingShard subject(JobOfPolicy(v1::POLICY_KIND_SSP));
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  view.set_timeline(kShardTimeline);
  for (const uint64_t trainer : {5, 6}) view.add_trainers()->set_trainer(trainer);
  ASSERT_EQ(subject.shard->SetView(view), absl::OkStatus());
  std::optional<absl::Status> ahead;
  EXPECT_TRUE(subject.Pull(/*clock=*/1000, ahead).has_value());
  std::optional<absl::Status> evaluation;
  EXPECT_FALSE(subject.Pull(/*clock=*/1000, evaluation, /*evaluation=*/true).has_value());
  EXPECT_EQ(evaluation, absl::OkStatus());
  subject.shard->Tick();
  EXPECT_FALSE(ahead.has_value()) << *ahead;
  subject.clock.Advance(absl::Seconds(20));
  subject.shard->Tick();
  ASSERT_TRUE(ahead.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*ahead)) << *ahead;
}

}  // namespace
}  // namespace capstan::ps
