// What a backup takes of its partition's owner, on a real shard. Requests that come again:
// ReplicatorTest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/base/status.h"
#include "capstan/rpc/event_loop.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

v1::JobSpec BackedUpJob() {
  v1::JobSpec job = SmallJob(/*dim=*/4, /*dense_width=*/4);
  job.set_replicas(1);
  return job;
}

constexpr uint64_t kStream = 1000;  // Later than any that the owner itself begins here.

class ReplicateTest : public testing::Test {
 protected:
  ReplicateTest() : shards_(BackedUpJob(), 2) {
    TestMove move{.partitions = {0}, .from = 0, .to = 1, .replica = true};
    Announce(shards_, move);
    EXPECT_TRUE(AwaitCopies(shards_, move).ok());
    EXPECT_TRUE(AwaitEnd(shards_, move).ok());
    shards_.Change([&](v1::View& view) { Pair(view, move); });
    pair_ = shards_.view().pairs(0);
  }

  v1::ReplicateRequest Request(uint64_t first) {
    v1::ReplicateRequest request;
    request.mutable_header()->set_timeline(1);
    request.set_source(Raw(shards_.at(0).shard().identity().incarnation));
    request.set_stream(kStream);
    request.set_first(first);
    v1::Operation& operation = *request.add_operations();
    operation.set_partition(0);
    *operation.mutable_pair() = pair_.id();
    operation.mutable_flush();
    return request;
  }
  absl::StatusOr<v1::ReplicateReply> Take(const v1::ReplicateRequest& request) {
    const auto message = ps::ReplicateMessage::Read(EventLoop::Serialize(request));
    CAPSTAN_RETURN_IF_ERROR(message.status());
    return shards_.at(1).replicator().Take(**message);
  }

  LocalShards shards_;
  v1::PartitionPair pair_;
};

TEST_F(ReplicateTest, OperationsAreTakenInOrderOnceAndWithoutAGap) {
  EXPECT_TRUE(absl::IsOutOfRange(Take(Request(2)).status()));
  absl::StatusOr<v1::ReplicateReply> taken = Take(Request(1));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->taken(), 1u);
  EXPECT_EQ(taken->refused_size(), 0);
  taken = Take(Request(1));
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u) << "again, nothing";
  v1::ReplicateRequest later = Request(1);
  later.set_stream(kStream + 1);
  EXPECT_TRUE(Take(later).ok()) << "another stream begins";
  EXPECT_TRUE(absl::IsFailedPrecondition(Take(Request(2)).status())) << "and this one is over";
}

TEST_F(ReplicateTest, AnOperationOfAnotherPairIsRefusedAndOneOfALaterViewWaits) {
  v1::ReplicateRequest old = Request(1);
  old.mutable_operations(0)->mutable_pair()->set_n(1);
  absl::StatusOr<v1::ReplicateReply> taken = Take(old);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u);
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
  v1::ReplicateRequest early = Request(2);
  early.mutable_operations(0)->mutable_pair()->set_n(1000);
  taken = Take(early);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u) << "until the view is here";
}

TEST_F(ReplicateTest, ACopyThatIsOutOfStepIsDroppedAndReported) {
  EXPECT_EQ(shards_.at(1).Report().broken_pairs_size(), 0);
  Trainer trainer(shards_);
  trainer.Plan({0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  v1::ReplicateRequest forged = Request(1);
  v1::PushRequest push;
  push.mutable_header()->set_timeline(1);
  push.mutable_stream()->set_stream(StreamId::Task(0, 5).value);
  push.add_partitions()->set_partition(0);
  forged.add_pushes(push.SerializeAsString());
  forged.mutable_operations(0)->mutable_push()->set_dense_version(1234);
  const absl::StatusOr<v1::ReplicateReply> taken = Take(forged);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
  const v1::ShardReport report = shards_.at(1).Report();
  ASSERT_EQ(report.broken_pairs_size(), 1);
  EXPECT_EQ(report.broken_pairs(0).partition(), 0u);
  EXPECT_EQ(report.broken_pairs(0).pair().n(), pair_.id().n());
}

TEST_F(ReplicateTest, AnImpossibleRequestIsRefused) {
  v1::ReplicateRequest request = Request(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Take(request).status()));
  request = Request(1);
  request.set_stream(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Take(request).status()));
  request = Request(1);
  request.mutable_operations(0)->set_partition(99);
  const absl::StatusOr<v1::ReplicateReply> taken = Take(request);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
}

std::string PushOf(uint32_t partition) {
  v1::PushRequest push;
  push.mutable_header()->set_timeline(1);
  push.mutable_stream()->set_stream(StreamId::Task(0, 5).value);
  push.add_partitions()->set_partition(partition);
  return push.SerializeAsString();
}

struct NamedPush {
  const char* name;
  std::string push;  // Of the request; empty: it has none.
  uint32_t place;
  bool refused;
};

class ReplicatedPushTest : public ReplicateTest, public testing::WithParamInterface<NamedPush> {};

TEST_P(ReplicatedPushTest, IsRefusedUnlessTheRequestHasIt) {
  v1::ReplicateRequest request = Request(1);
  request.mutable_operations(0)->mutable_push()->set_place(GetParam().place);
  if (!GetParam().push.empty()) request.add_pushes(GetParam().push);
  const absl::StatusOr<v1::ReplicateReply> taken = Take(request);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->taken(), 1u);
  EXPECT_EQ(taken->refused_size() > 0, GetParam().refused);
}

INSTANTIATE_TEST_SUITE_P(Pushes, ReplicatedPushTest,
                         testing::Values(NamedPush{"Here", PushOf(0), 0, false},
                                         NamedPush{"Missing", "", 0, true},
                                         NamedPush{"Malformed", "not a push", 0, true},
                                         NamedPush{"OfAnotherPartition", PushOf(1), 0, true},
                                         NamedPush{"OfNoPartition", PushOf(0), 1, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace capstan
