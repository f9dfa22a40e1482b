// The client against real shards: what is pulled is what was pushed, under every split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/client/ps_client.h"
#include "capstan/rpc/limits.h"
#include "capstan/wire/payload_writer.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::HasSubstr;

// A push of nothing, which says that the trainer has finished `clock` steps.
void TellClock(LocalShards& shards, TrainerId id, uint64_t clock) {
  Trainer trainer(shards, {.trainer = id});
  trainer.Plan({});
  std::optional<PushResult> told;
  trainer.client.Push(ShardIndex{0}, trainer.plan,
                      {.clock = clock, .empty = true, .stream = StreamPush{StreamId::Task(0, 0)}},
                      {}, [&told](const PushResult& result) { told = result; });
  while (!told) trainer.loop.Poll(absl::Milliseconds(20));
  EXPECT_TRUE(told->status.ok()) << told->status;
}

std::vector<uint64_t> ManyKeys(size_t count) {
  std::vector<uint64_t> keys = {0, ~uint64_t{0}};
  while (keys.size() < count) keys.push_back(keys.size() * 7);
  return keys;
}

class DataPathTest : public testing::TestWithParam<int> {};

TEST_P(DataPathTest, APullReadsWhatAPushHasWritten) {
  LocalShards shards(SmallJob(/*dim=*/3, /*dense_width=*/100'000), GetParam());
  Trainer trainer(shards);
  trainer.Plan(ManyKeys(5000));
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_EQ(trainer.rows, std::vector<float>(15'000, 0));
  const PushResult pushed = trainer.Push(0, -2);
  ASSERT_TRUE(pushed.status.ok()) << pushed.status;
  EXPECT_GT(pushed.count(v1::OUTCOME_APPLIED), 0u);
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_EQ(trainer.rows, std::vector<float>(15'000, 2));
  EXPECT_EQ(trainer.dense, std::vector<float>(100'000, 2));
  for (const auto& [dense, sparse] : trainer.versions) EXPECT_EQ(sparse, 1u);
}

INSTANTIATE_TEST_SUITE_P(Shards, DataPathTest, testing::Values(1, 2, 3));

TEST(DataPathTest, AShareOfOnePartitionMayBeLargerThanAMessage) {
  constexpr uint32_t kFloats = 20'000'000;
  static_assert(kFloats * sizeof(float) > kMaxMessageBytes);
  v1::JobSpec job = SmallJob(/*dim=*/3, kFloats);
  job.set_partition_count(1);
  LocalShards shards(job, 1);
  Trainer trainer(shards);
  trainer.Plan(ManyKeys(5000));
  for (const PushResult& pushed : {trainer.Push(0, -2), trainer.Push(1, -1)}) {
    ASSERT_TRUE(pushed.status.ok()) << pushed.status;
    EXPECT_EQ(pushed.count(v1::OUTCOME_APPLIED), kParts);
  }
  EXPECT_EQ(trainer.Push(1, -1).count(v1::OUTCOME_SETTLED), kParts) << "it is known by its name";
  const PullResult pulled = trainer.Pull();
  ASSERT_TRUE(pulled.status.ok()) << pulled.status;
  EXPECT_TRUE(trainer.dense == std::vector<float>(kFloats, 3));
  EXPECT_EQ(trainer.rows, std::vector<float>(15'000, 3));
  EXPECT_EQ(trainer.versions, (PartitionVersions{{2, 2}}));
}

TEST(DataPathTest, ClocksAreMeasuredOnlyWhereAPartIsSsp) {
  v1::JobSpec job = SmallJob(/*dim=*/2, /*dense_width=*/10);
  EXPECT_FALSE(LocalShards(job, 1).at(0).shard().accounts().Facts().clocks.has_value());
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job.mutable_sparse_update()->set_staleness(1);
  EXPECT_TRUE(LocalShards(job, 1).at(0).shard().accounts().Facts().clocks.has_value());
}

TEST(DataPathTest, RowsComeInTheOrderAskedFor) {
  LocalShards shards(SmallJob(/*dim=*/1, 0), 2);
  Trainer trainer(shards);
  for (uint64_t key = 0; key < 50; ++key) {
    trainer.Plan({key});
    ASSERT_TRUE(trainer.Push(key, -static_cast<float>(key)).status.ok());
  }
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 50; ++i) keys.push_back(i * 29 % 50);
  trainer.Plan(keys);
  ASSERT_TRUE(trainer.Pull().status.ok());
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(trainer.rows[i], static_cast<float>(keys[i]));
}

TEST(DataPathTest, ARepetitionIsSettledAndChangesNothing) {
  LocalShards shards(SmallJob(/*dim=*/2, /*dense_width=*/10), 2);
  Trainer trainer(shards);
  trainer.Plan(ManyKeys(100));
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  const PushResult again = trainer.Push(0, -1);
  ASSERT_TRUE(again.status.ok());
  EXPECT_EQ(again.count(v1::OUTCOME_APPLIED), 0u);
  EXPECT_GT(again.count(v1::OUTCOME_SETTLED), 0u);
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_EQ(trainer.rows, std::vector<float>(200, 1));
  EXPECT_THAT(shards.at(0).Metrics(), HasSubstr("reason=\"duplicate\"} "));
}

TEST(DataPathTest, ASilentSessionIsForgottenAndMayBeginAgain) {
  LocalShards shards(SmallJob(/*dim=*/2, 0), 1);
  Trainer trainer(shards);
  trainer.Plan(ManyKeys(100));
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  shards.at(0).shard().ExpireSessions(shards.at(0).shard().clock().Now() + absl::Minutes(30));
  EXPECT_EQ(trainer.Push(0, -1).count(v1::OUTCOME_APPLIED), 0u);
  shards.at(0).shard().ExpireSessions(shards.at(0).shard().clock().Now() + absl::Hours(2));
  EXPECT_GT(trainer.Push(0, -1).count(v1::OUTCOME_APPLIED), 0u);
}

TEST(DataPathTest, APushOfSeveralCallsTellsTheClockWhenAllOfItIsIn) {
  v1::JobSpec job = SmallJob(/*dim=*/0, /*dense_width=*/1'000'000);  // Four calls.
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  LocalShards shards(job, 1);
  Trainer slow(shards, {.trainer = TrainerId{1}});
  Trainer fast(shards, {.trainer = TrainerId{2}});
  shards.SetTrainers({1, 2});
  slow.Plan({});
  fast.Plan({});
  TellClock(shards, TrainerId{2}, 1);
  const PullOptions next = {.clock = 1};
  PullOptions hasty = next;
  hasty.timeout = absl::Milliseconds(400);
  EXPECT_FALSE(fast.Pull(hasty).status.ok()) << "the slow one has finished nothing";
  ASSERT_GT(slow.plan.ChunksOf(ShardIndex{0}).size(), 1u);
  const StreamPush name{StreamId::Task(0, 1)};
  ASSERT_TRUE(slow.Push({.clock = 1, .stream = name}, -1).status.ok());
  EXPECT_TRUE(fast.Pull(next).status.ok());
}

// A request of this trainer to a shard of which all is known, without values.
template <typename Head>
grpc::ByteBuffer EmptyRequest(const wire::Schema& schema, const v1::View& view, TrainerId trainer,
                              uint64_t clock) {
  Head head;
  v1::RequestHeader& header = *head.mutable_header();
  header.set_wire_version(kWireVersion);
  header.set_timeline(view.timeline());
  header.set_target_incarnation(view.shards(0).incarnation());
  header.set_trainer(Raw(trainer));
  header.set_clock(clock);
  return wire::PayloadWriter(schema, &head, {}).Finish();
}

TEST(DataPathTest, APushIsAnsweredBeforeThePullsThatItReleases) {
  v1::JobSpec job = SmallJob(/*dim=*/0, /*dense_width=*/4);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  LocalShards shards(job, 1);
  shards.SetTrainers({1, 2});
  TellClock(shards, TrainerId{2}, 1);
  ps::Shard& shard = shards.at(0).shard();
  bool pulled = false;
  (void)shard.Pull(*ps::PullQuery::Read(EmptyRequest<v1::PullRequest>(
                                            wire::kPullRequest, shards.view(), TrainerId{2}, 1),
                                        shard.catalog()),
                   absl::InfiniteFuture(),
                   [&pulled](const auto& answer, absl::Duration) { pulled = answer.ok(); });
  ASSERT_FALSE(pulled) << "the slow one has finished nothing";
  {
    const auto push = shard.ReadPush(
        EmptyRequest<v1::PushRequest>(wire::kPushRequest, shards.view(), TrainerId{1}, 1));
    ASSERT_TRUE(push.ok()) << push.status();
    const auto pushed = shard.Push(*push);
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    EXPECT_FALSE(pushed->released.empty());
    EXPECT_FALSE(pulled) << "before the push has been answered";
  }
  EXPECT_TRUE(pulled);
}

TEST(DataPathTest, UnderScaleARowIsAsStaleAsItsOwnUpdatesMakeIt) {
  v1::JobSpec job = SmallJob(/*dim=*/1, 0);
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  job.set_partition_count(1);  // Its version counts the updates of all rows.
  LocalShards shards(job, 1);
  Trainer slow(shards), fast(shards);
  slow.Plan({1, 2});
  ASSERT_TRUE(slow.Pull().status.ok());
  fast.Plan({2});
  for (uint64_t seq = 0; seq < 4; ++seq) {
    ASSERT_TRUE(fast.Pull().status.ok());
    ASSERT_TRUE(fast.Push({.stream = StreamPush{StreamId::Task(0, 2), seq}}, -1).status.ok());
  }
  ASSERT_TRUE(slow.Push({.stream = StreamPush{StreamId::Task(0, 1)}}, -1).status.ok());
  ASSERT_TRUE(slow.Pull().status.ok());
  EXPECT_EQ(slow.rows, (std::vector<float>{1, 4.25f})) << "nobody else has touched row 1";
  const v1::ShardReport report = shards.at(0).Report();
  EXPECT_EQ(report.max_staleness(), 4u);
  EXPECT_EQ(report.max_row_staleness(), 4u);
  ASSERT_EQ(report.row_staleness_counts_size(), 5);
  EXPECT_EQ(report.row_staleness_counts(0), 5u) << "four of the fast one, and row 1";
  EXPECT_EQ(report.row_staleness_counts(4), 1u);
}

TEST(DataPathTest, UnderDropAGradientWhoseRowsAreAllTooStaleIsToldToBeDropped) {
  v1::JobSpec job = SmallJob(/*dim=*/1, 0);
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  job.mutable_sparse_update()->set_drop_above(1);
  job.set_partition_count(1);
  LocalShards shards(job, 1);
  Trainer slow(shards), fast(shards);
  slow.Plan({2});
  ASSERT_TRUE(slow.Pull().status.ok());
  fast.Plan({1, 2});
  for (uint64_t seq = 0; seq < 2; ++seq) {
    ASSERT_TRUE(fast.Pull().status.ok());
    ASSERT_TRUE(fast.Push({.stream = StreamPush{StreamId::Task(0, 2), seq}}, -1).status.ok());
  }
  const PushResult dropped = slow.Push({.stream = StreamPush{StreamId::Task(0, 1)}}, -1);
  EXPECT_EQ(dropped.count(v1::OUTCOME_DROPPED), 1u);
  EXPECT_EQ(shards.at(0).Report().gradients_dropped(), 1u);
  ASSERT_TRUE(slow.Pull().status.ok());
  EXPECT_EQ(slow.rows, std::vector<float>{2});
}

TEST(DataPathTest, ValuesTravelAsBfloat16WhenAskedTo) {
  LocalShards shards(SmallJob(/*dim=*/2, /*dense_width=*/10), 1);
  Trainer trainer(shards, {.dtype = v1::DTYPE_BFLOAT16});
  trainer.Plan(ManyKeys(10));
  ASSERT_TRUE(trainer.Push(0, -1.0078125f).status.ok());  // Exact in 8 bits of mantissa.
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_EQ(trainer.rows, std::vector<float>(20, 1.0078125f));
  EXPECT_EQ(trainer.dense, std::vector<float>(10, 1.0078125f));
}

TEST(DataPathTest, ASspPullWaitsForTheSlowerTrainerAndNoLonger) {
  v1::JobSpec job = SmallJob(/*dim=*/1, 0);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job.mutable_sparse_update()->set_staleness(1);
  LocalShards shards(job, 1);
  shards.SetTrainers({11, 22});
  Trainer fast(shards, {.trainer = TrainerId{11}});
  fast.Plan({1});
  const std::array<float*, 1> matrices = {fast.rows.data()};
  std::optional<PullResult> result;
  fast.client.Pull(ShardIndex{0}, fast.plan, {.clock = 2, .timeout = absl::Seconds(20)},
                   {.rows = matrices}, [&](const PullResult& o) { result = o; });
  const absl::Time begin = absl::Now();
  while (!result && absl::Now() < begin + absl::Milliseconds(300)) {
    fast.loop.Poll(absl::Milliseconds(20));
  }
  EXPECT_FALSE(result.has_value()) << "two steps ahead of a trainer at 0, bound 1";

  TellClock(shards, TrainerId{11}, 2);
  TellClock(shards, TrainerId{22}, 1);
  while (!result && absl::Now() < begin + absl::Seconds(10)) {
    fast.loop.Poll(absl::Milliseconds(20));
  }
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->status.ok()) << result->status;
}

TEST(DataPathTest, AWaitingPullIsAnsweredBeforeItsDeadline) {
  v1::JobSpec job = SmallJob(/*dim=*/1, 0);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job.mutable_sparse_update()->set_staleness(1);
  LocalShards shards(job, 1);
  shards.SetTrainers({11, 22});
  Trainer fast(shards, {.trainer = TrainerId{11}});
  fast.Plan({1});
  const PullResult result = fast.Pull({.clock = 9, .timeout = absl::Milliseconds(400)});
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(fast.Pull({.clock = 9, .evaluation = true}).status.ok())
      << "evaluation passes the policy by";
}

TEST(DataPathTest, ACancelledRequestWritesNothingAndSaysNothing) {
  LocalShards shards(SmallJob(/*dim=*/4, 0), 1);
  Trainer trainer(shards);
  trainer.Plan(ManyKeys(1000));
  const std::array<float*, 1> matrices = {trainer.rows.data()};
  bool ran = false;
  const RequestId id = trainer.client.Pull(ShardIndex{0}, trainer.plan, {}, {.rows = matrices},
                                           [&](const PullResult&) { ran = true; });
  trainer.client.Cancel(id);
  for (int i = 0; i < 5; ++i) trainer.loop.Poll(absl::Milliseconds(20));
  EXPECT_FALSE(ran);
  EXPECT_EQ(trainer.rows[0], -1);
}

}  // namespace
}  // namespace capstan
