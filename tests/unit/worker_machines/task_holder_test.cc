#include "worker/task_holder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/worker_machines/testing.h"

namespace capstan::worker {
namespace {

TaskLease LeaseOfTask(int push_window = 4) {
  TaskLease lease;
  lease.options.generation = {1, 7};
  lease.options.shard_count = 2;
  lease.stream = {55};
  lease.push_window = push_window;
  return lease;
}

TEST(TaskHolderTest, TrainsATaskToItsEnd) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  for (int i = 0; i < 3; ++i) {
    holder.Read(/*length=*/3);
    holder.Pull();
    holder.ComputeAll(/*loss=*/2);
    holder.Push();
  }
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kDone);
  EXPECT_EQ(holder.progress().batches_done, 3u);
  EXPECT_EQ(holder.progress().total_batches, 3u);
  EXPECT_EQ(holder.progress().examples, 12u);
  EXPECT_EQ(holder.progress().loss_sum, 6);
  EXPECT_EQ(holder.TakeAll<Forget>().size(), 3u);
}

TEST(TaskHolderTest, ThePullOfTheNextBatchOverlapsTheComputation) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  EXPECT_EQ(holder.Take<Compute>().batch, 0u);
  holder.Read(9);
  const std::vector<SendPull> pulls = holder.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u);
  EXPECT_EQ(pulls[0].batch, 1u);
}

TEST(TaskHolderTest, NamesPushesAndRaisesTheLowMark) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const std::vector<SendPush> first = holder.TakeAll<SendPush>();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].stream->stream, StreamId{55});
  EXPECT_EQ(first[0].stream->generation, (Generation{1, 7}));
  for (const SendPush& push : first) holder.Feed(PushDone{push.ticket, {}, {}, {}});
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  EXPECT_EQ(holder.TakeAll<SendPush>()[0].stream->low_mark, 1u);
}

TEST(TaskHolderTest, APullDoesNotOvertakeThePushOfTheBatchBeforeTheLast) {
  Driver holder(NewTaskHolder(LeaseOfTask(/*push_window=*/1)));
  holder.Read(9);
  holder.Pull();  // Batch 0, and while it computes
  holder.Read(9);
  holder.Pull();        // batch 1.
  holder.ComputeAll();  // Batch 0; batch 1 begins to compute.
  holder.Read(9);
  EXPECT_EQ(holder.Take<Compute>().batch, 1u);
  EXPECT_TRUE(holder.TakeAll<SendPull>().empty()) << "batch 0 is on its way";
  holder.Push();
  const std::vector<SendPull> pulls = holder.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u) << "while batch 1 still computes";
  EXPECT_EQ(pulls[0].batch, 2u);
}

// What a shard does: it applies a push when it acknowledges it. Alone, a worker that always
// computes before it hears of its pushes is as stale as its window allows, and never more.
TEST(TaskHolderTest, AloneItIsNeverStalerThanItsWindow) {
  for (const int window : {1, 2, 3}) {
    Driver holder(NewTaskHolder(LeaseOfTask(window)));
    std::map<uint64_t, uint64_t> pulled;  // Batch -> updates that its weights have.
    uint64_t applied = 0;
    uint64_t stalest = 0;
    while (!holder.machine().finished()) {
      holder.Read(20);
      for (const SendPull& pull : holder.TakeAll<SendPull>()) {
        pulled.try_emplace(pull.batch, applied);
        holder.Feed(PullDone{pull.ticket, {}, {}});
      }
      const std::vector<Compute> computes = holder.TakeAll<Compute>();
      for (const Compute& compute : computes) holder.Feed(Computed{compute.batch, 1, false});
      if (!computes.empty()) continue;
      const std::vector<SendPush> pushes = holder.TakeAll<SendPush>();
      for (const SendPush& push : pushes) {
        if (push.shard == kShard0) stalest = std::max(stalest, applied++ - pulled[push.batch]);
        holder.Feed(PushDone{push.ticket, {}, {}, {}});
      }
    }
    EXPECT_EQ(applied, 20u);
    EXPECT_EQ(stalest, static_cast<uint64_t>(window));
  }
}

TEST(TaskHolderTest, AnEvaluationPullsAheadWithoutWaiting) {
  TaskLease lease = LeaseOfTask(/*push_window=*/1);
  lease.evaluation = true;
  Driver holder(NewTaskHolder(lease));
  holder.Read(9);
  holder.Pull();
  EXPECT_EQ(holder.Take<Compute>().batch, 0u);
  holder.Read(9);
  EXPECT_EQ(holder.TakeAll<SendPull>().at(0).batch, 1u);
}

TEST(TaskHolderTest, KeepsToItsWindow) {
  Driver holder(NewTaskHolder(LeaseOfTask(/*push_window=*/2)));
  for (int i = 0; i < 6; ++i) {
    holder.Read(9);
    holder.Pull();
    holder.ComputeAll();
  }
  // Two steps are pushed and not acknowledged; one more is computed and waits.
  const std::vector<SendPush> pushes = holder.TakeAll<SendPush>();
  EXPECT_EQ(pushes.size(), 4u);
  EXPECT_EQ(pushes.back().batch, 1u);
  for (const SendPush& push : pushes) {
    if (push.batch == 0) holder.Feed(PushDone{push.ticket, {}, {}, {}});
  }
  EXPECT_EQ(holder.TakeAll<SendPush>().size(), 2u);
}

TEST(TaskHolderTest, TriesAgainAfterABackOffThatGrows) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  absl::Duration before;
  for (int i = 0; i < 4; ++i) {
    const SendPull pull = holder.TakeAll<SendPull>()[0];
    holder.Feed(PullDone{pull.ticket, absl::UnavailableError("away"), {}});
    const absl::Duration wait = holder.machine().NextWake() - holder.now;
    EXPECT_GT(wait, before);
    before = wait;
    holder.Feed(Tick{});
    EXPECT_TRUE(holder.TakeAll<SendPull>().empty()) << "not before its time";
    holder.Wake();
  }
  EXPECT_EQ(holder.TakeAll<SendPull>().size(), 1u);
}

TEST(TaskHolderTest, WaitsAsLongAsAFullShardAsks) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const SendPush push = holder.TakeAll<SendPush>()[0];
  FateSummary fates;
  fates.Count(v1::FATE_BUSY);
  holder.Feed(PushDone{push.ticket, {}, fates, absl::Seconds(3)});
  EXPECT_EQ(holder.machine().NextWake(), holder.now + absl::Seconds(3));
}

TEST(TaskHolderTest, RefreshesTheViewAndTriesAgainWhenItComes) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const SendPush push = holder.TakeAll<SendPush>()[0];
  FateSummary fates;
  fates.Count(v1::FATE_NOT_OWNER);
  holder.Feed(PushDone{push.ticket, {}, fates, {}});
  holder.Take<RefreshView>();
  EXPECT_TRUE(holder.TakeAll<SendPush>().empty());
  holder.Feed(ViewChanged{2, {}, {}});
  EXPECT_EQ(holder.Take<SendPush>().shard, push.shard);
}

TEST(TaskHolderTest, PushesAgainByTheNewMap) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const std::vector<SendPush> old = holder.TakeAll<SendPush>();
  holder.Feed(ViewChanged{3, {}, {BatchRead{0, 4, {ShardIndex{2}}, {}, 0}}});
  const SendPush push = holder.Take<SendPush>();
  EXPECT_EQ(push.shard, ShardIndex{2});
  holder.Feed(PushDone{old[0].ticket, {}, {}, {}});
  EXPECT_EQ(holder.progress().batches_done, 0u) << "an answer by the old map means nothing";
  holder.Feed(PushDone{push.ticket, {}, {}, {}});
  EXPECT_EQ(holder.progress().batches_done, 1u);
}

TEST(TaskHolderTest, AnOldGenerationMeansThatTheLeaseIsLost) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  FateSummary fates;
  fates.Count(v1::FATE_OLD_GENERATION);
  holder.Feed(PushDone{holder.TakeAll<SendPush>()[0].ticket, {}, fates, {}});
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kLost);
  EXPECT_TRUE(holder.machine().finished());
}

TEST(TaskHolderTest, BadRequestsEndTheLeaseWithTheirReason) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Feed(
      PullDone{holder.TakeAll<SendPull>()[0].ticket, absl::NotFoundError("no table 4"), {}});
  const Finished finished = holder.Take<Finished>();
  EXPECT_EQ(finished.why, Finished::Why::kFailed);
  EXPECT_EQ(finished.status.message(), "no table 4");
}

TEST(TaskHolderTest, DrainedItFinishesItsStepAndReturnsTheLease) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  const Compute compute = holder.Take<Compute>();
  holder.Feed(Drain{holder.now + absl::Seconds(4)});
  EXPECT_TRUE(holder.TakeAll<Finished>().empty());
  holder.Feed(Computed{compute.batch, 1, false});
  holder.Push();
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kReturned);
  EXPECT_EQ(holder.progress().batches_done, 1u);
}

TEST(TaskHolderTest, DrainedItIsOverByTheDeadline) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.Feed(Drain{holder.now + absl::Seconds(4)});
  holder.Wake();
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kReturned);
}

TEST(TaskHolderTest, AStepWithoutAFiniteGradientIsNotPushedNorCountedAsTrained) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(1);
  holder.Pull();
  holder.Feed(Computed{holder.Take<Compute>().batch, 1, /*nonfinite=*/true});
  EXPECT_TRUE(holder.TakeAll<SendPush>().empty());
  EXPECT_EQ(holder.progress().batches_done, 1u);
  EXPECT_EQ(holder.progress().examples, 0u);
  EXPECT_EQ(holder.progress().nonfinite, 1u);
}

TEST(TaskHolderTest, UnderSspEveryShardGetsEveryStep) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  lease.options.shard_count = 3;
  Driver holder(NewTaskHolder(lease));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const std::vector<SendPush> pushes = holder.TakeAll<SendPush>();
  ASSERT_EQ(pushes.size(), 3u);
  EXPECT_TRUE(pushes[2].empty) << "nothing of this batch is on shard 2";
  EXPECT_FALSE(pushes[1].empty);
  EXPECT_EQ(pushes[2].clock, 1u);
}

TEST(TaskHolderTest, WithoutSspPushesTellNoClock) {
  Driver holder(NewTaskHolder(LeaseOfTask()));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  for (const SendPush& push : holder.TakeAll<SendPush>()) EXPECT_EQ(push.clock, 0u);
}

TEST(TaskHolderTest, UnderSspARestartedShardIsToldTheClock) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  Driver holder(NewTaskHolder(lease));
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  holder.Push();
  EXPECT_TRUE(holder.TakeAll<SendClock>().empty());
  holder.Feed(ViewChanged{2, {kShard1}, {}});
  const SendClock told = holder.Take<SendClock>();
  EXPECT_EQ(told.shard, kShard1);
  EXPECT_EQ(told.clock, 1u);
}

TEST(TaskHolderTest, AnEvaluationPullsAndPushesNothing) {
  TaskLease lease = LeaseOfTask();
  lease.evaluation = true;
  Driver holder(NewTaskHolder(lease));
  holder.Read(1);
  const std::vector<SendPull> pulls = holder.TakeAll<SendPull>();
  EXPECT_TRUE(pulls.at(0).evaluation);
  for (const SendPull& pull : pulls) holder.Feed(PullDone{pull.ticket, {}, {}});
  holder.ComputeAll();
  EXPECT_TRUE(holder.TakeAll<SendPush>().empty());
  holder.Read(1);
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kDone);
}

}  // namespace
}  // namespace capstan::worker
