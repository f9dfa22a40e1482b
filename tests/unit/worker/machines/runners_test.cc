// Which machine works on a lease, and by what settings.
#include "worker/machines/runners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/worker/machines/testing.h"

namespace capstan::worker {
namespace {

// A job of tensors and tables, both of one policy; a lease of task 3 of epoch 2, from batch 5 on.
class RunnersTest : public testing::Test {
 protected:
  static v1::JobSpec JobOf(v1::PolicyKind dense, v1::PolicyKind sparse) {
    v1::JobSpec job;
    job.add_tensors();
    job.add_tables();
    job.mutable_dense_update()->set_kind(dense);
    job.mutable_sparse_update()->set_kind(sparse);
    job.mutable_train()->set_push_window(4);
    return job;
  }
  static v1::Lease LeaseOf(v1::LeaseKind kind) {
    v1::Lease lease;
    lease.set_kind(kind);
    lease.mutable_generation()->set_term(1);
    lease.mutable_generation()->set_count(7);
    lease.mutable_generation()->set_seal(99);
    lease.set_data_epoch(2);
    lease.mutable_task()->set_index(3);
    lease.set_first_batch(5);
    lease.set_lane(6);
    return lease;
  }
  static Driver Run(const v1::JobSpec& job, const v1::Lease& lease) {
    return Driver(NewRunner(job, lease, {kShard0, kShard1}));
  }
};

TEST_F(RunnersTest, ATaskIsTrainedFromItsFirstBatchUnderItsNameAndGeneration) {
  Driver runner =
      Run(JobOf(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_ASYNC), LeaseOf(v1::LEASE_KIND_TASK));
  runner.Read(9);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u);
  EXPECT_EQ(pulls[0].batch, 5u);
  EXPECT_FALSE(pulls[0].evaluation);
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();
  const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  ASSERT_EQ(pushes.size(), 2u);
  ASSERT_TRUE(pushes[0].stream);
  EXPECT_EQ(pushes[0].stream->stream, StreamId::Task(2, 3));
  EXPECT_EQ(pushes[0].stream->generation, (Generation{1, 7}));
  EXPECT_EQ(pushes[0].stream->generation.seal, 99u) << "the holder shows the seal";
  EXPECT_EQ(pushes[0].clock, 0u);
}

TEST_F(RunnersTest, AnEvaluationPullsAsOneAndTellsNoClockUnderSsp) {
  Driver runner =
      Run(JobOf(v1::POLICY_KIND_SSP, v1::POLICY_KIND_SSP), LeaseOf(v1::LEASE_KIND_EVALUATION));
  runner.Feed(ViewOf({kShard0, kShard1}));
  runner.Read(6);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  ASSERT_FALSE(pulls.empty());
  EXPECT_TRUE(pulls[0].evaluation);
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  EXPECT_TRUE(runner.TakeAll<SendClock>().empty());
}

TEST_F(RunnersTest, WhereAPartIsSspEveryPushTellsAClock) {
  for (const auto& [dense, sparse] : {std::pair(v1::POLICY_KIND_SSP, v1::POLICY_KIND_ASYNC),
                                      std::pair(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_SSP)}) {
    Driver runner = Run(JobOf(dense, sparse), LeaseOf(v1::LEASE_KIND_TASK));
    runner.Read(9);
    runner.Pull();
    runner.ComputeAll();
    for (const SendPush& push : runner.TakeAll<SendPush>()) EXPECT_EQ(push.clock, 1u);
  }
}

TEST_F(RunnersTest, AWindowIsFromOneUpToWhatALedgerRemembers) {
  for (const auto& [wanted, window] : {std::pair(0u, 1u), std::pair(1000u, 64u)}) {
    v1::JobSpec job = JobOf(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_ASYNC);
    job.mutable_train()->set_push_window(wanted);
    v1::Lease lease = LeaseOf(v1::LEASE_KIND_TASK);
    lease.set_first_batch(0);
    Driver runner = Run(job, lease);
    for (int i = 0; i < 200; ++i) {
      runner.Read(1000);
      runner.Pull();
      runner.ComputeAll();
    }
    uint64_t last = 0;
    for (const SendPush& push : runner.TakeAll<SendPush>()) last = std::max(last, push.batch);
    EXPECT_EQ(last, window - 1) << "no push is acknowledged";
  }
}

TEST_F(RunnersTest, ALanesRunnerAsksTheCoordinatorFirst) {
  Driver runner =
      Run(JobOf(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_SYNC), LeaseOf(v1::LEASE_KIND_LANE));
  const SendOpen open = runner.Take<SendOpen>();
  EXPECT_EQ(open.lane, LaneIndex{6});
  EXPECT_EQ(open.generation, (Generation{1, 7}));
  EXPECT_TRUE(runner.TakeAll<SendPull>().empty());
}

TEST_F(RunnersTest, ALanesPushHasAStreamsNameOnlyWhereParametersAreNotSynchronous) {
  v1::JobSpec hybrid = JobOf(v1::POLICY_KIND_SYNC, v1::POLICY_KIND_ASYNC);
  v1::JobSpec no_tables = hybrid;
  no_tables.clear_tables();
  for (const auto& [job, named] : {std::pair(hybrid, true), std::pair(no_tables, false)}) {
    Driver runner = Run(job, LeaseOf(v1::LEASE_KIND_LANE));
    OpenDone opened;
    opened.ticket = runner.Take<SendOpen>().ticket;
    opened.answer = v1::OpenRoundReply::ANSWER_OPEN;
    opened.round = 1;
    runner.Feed(opened);
    runner.Read(9);
    runner.Pull();
    runner.ComputeAll();
    const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
    ASSERT_FALSE(pushes.empty());
    EXPECT_EQ(pushes[0].stream.has_value(), named);
    EXPECT_TRUE(pushes[0].stage);
  }
}

TEST_F(RunnersTest, LanesTakeTurnsInTheirOrderWhereShardsAddGradientsInIt) {
  v1::JobSpec job = JobOf(v1::POLICY_KIND_ASYNC, v1::POLICY_KIND_SYNC);
  EXPECT_EQ(OrderOfTurns(job), LaneTurns::Order::kOfLanes);
  job.mutable_sparse_update()->set_backup_workers(1);
  EXPECT_EQ(OrderOfTurns(job), LaneTurns::Order::kOfAsking)
      << "only the closing decides whose gradients are added";
}

}  // namespace
}  // namespace capstan::worker
