#include "worker/machines/task_runner.h"

#include <gtest/gtest.h>

#include "tests/unit/worker/machines/testing.h"

namespace capstan::worker {
namespace {

TaskLease LeaseOfTask(int push_window = 4) {
  TaskLease lease;
  lease.options.generation = {1, 7};
  lease.options.shards = {kShard0, kShard1};
  lease.stream = {55};
  lease.push_window = push_window;
  return lease;
}

TEST(TaskRunnerTest, TrainsATaskToItsEnd) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  for (int i = 0; i < 3; ++i) {
    runner.Read(/*length=*/3);
    runner.Pull();
    runner.ComputeAll(/*loss=*/2);
    runner.Push();
  }
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kDone);
  EXPECT_EQ(runner.progress().batches_done, 3u);
  EXPECT_EQ(runner.progress().total_batches, 3u);
  EXPECT_EQ(runner.progress().examples, 12u);
  EXPECT_EQ(runner.progress().loss_sum, 6);
  EXPECT_EQ(runner.TakeAll<Forget>().size(), 3u);
}

TEST(TaskRunnerTest, ThePullOfTheNextBatchOverlapsTheComputation) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  EXPECT_EQ(runner.Take<Compute>().batch, 0u);
  runner.Read(9);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u);
  EXPECT_EQ(pulls[0].batch, 1u);
}

TEST(TaskRunnerTest, NamesPushesAndRaisesTheLowWatermark) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> first = runner.TakeAll<SendPush>();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].stream->stream, StreamId{55});
  EXPECT_EQ(first[0].stream->generation, (Generation{1, 7}));
  for (const SendPush& push : first) runner.Feed(PushDone{push.ticket, {}, {}, {}});
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  EXPECT_EQ(runner.TakeAll<SendPush>()[0].stream->low_watermark, 1u);
}

TEST(TaskRunnerTest, TriesAgainAfterABackOffThatGrows) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  absl::Duration before;
  for (int i = 0; i < 4; ++i) {
    const SendPull pull = runner.TakeAll<SendPull>()[0];
    runner.Feed(PullDone{pull.ticket, absl::UnavailableError("away"), {}});
    const absl::Duration wait = runner.machine().NextWake() - runner.now;
    EXPECT_GT(wait, before);
    before = wait;
    runner.Feed(Tick{});
    EXPECT_TRUE(runner.TakeAll<SendPull>().empty()) << "not before its time";
    runner.Wake();
  }
  EXPECT_EQ(runner.TakeAll<SendPull>().size(), 1u);
}

TEST(TaskRunnerTest, WaitsAsLongAsAFullShardAsksAndThoseWhoAreAskedTogetherNotEquallyLong) {
  for (double drawn : {0.0, 0.5}) {
    Driver runner(NewTaskRunner(LeaseOfTask()));
    runner.drawn = drawn;
    runner.Read(9);
    runner.Pull();
    runner.ComputeAll();
    const SendPush push = runner.TakeAll<SendPush>()[0];
    OutcomeSummary outcomes;
    outcomes.Count(v1::OUTCOME_BUSY);
    runner.Feed(PushDone{push.ticket, {}, outcomes, absl::Seconds(3)});
    EXPECT_EQ(runner.machine().NextWake(), runner.now + absl::Seconds(3 * (1 + drawn)));
  }
}

TEST(TaskRunnerTest, TriesAgainWhatAShardRefusedByItsViewWhenANewerOneComes) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const SendPush push = runner.TakeAll<SendPush>()[0];
  OutcomeSummary outcomes;
  outcomes.Count(v1::OUTCOME_NOT_OWNER);
  runner.Feed(PushDone{push.ticket, {}, outcomes, {}});
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  runner.Feed(ViewOf({kShard0, kShard1}));
  EXPECT_EQ(runner.Take<SendPush>().shard, push.shard);
}

TEST(TaskRunnerTest, PushesAgainByTheNewMap) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> old = runner.TakeAll<SendPush>();
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard2}));
  const SendPush push = runner.Take<SendPush>();
  EXPECT_EQ(push.shard, ShardIndex{2});
  runner.Feed(PushDone{old[0].ticket, {}, {}, {}});
  EXPECT_EQ(runner.progress().batches_done, 0u) << "an answer by the old map means nothing";
  runner.Feed(PushDone{push.ticket, {}, {}, {}});
  EXPECT_EQ(runner.progress().batches_done, 1u);
}

TEST(TaskRunnerTest, PullsAgainByTheNewMap) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  const std::vector<SendPull> old = runner.TakeAll<SendPull>();
  ASSERT_EQ(old.size(), 2u);
  runner.Feed(PullDone{old[1].ticket, {}, {}});
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard1, kShard2}));
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u) << "also of the shard that had answered: it may have more now";
  EXPECT_EQ(pulls[0].shard, kShard1);
  EXPECT_EQ(pulls[1].shard, kShard2);
  runner.Feed(PullDone{old[0].ticket, {}, {}});
  EXPECT_TRUE(runner.TakeAll<Compute>().empty());
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  EXPECT_EQ(runner.Take<Compute>().batch, 0u);
}

TEST(TaskRunnerTest, WhatIsComputedWhileTheMapChangesIsPushedByTheNewOne) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard2}));
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  runner.ComputeAll();
  EXPECT_EQ(runner.Take<SendPush>().shard, kShard2);
}

TEST(TaskRunnerTest, AViewWithTheSameMapBringsAboutNoRequest) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  runner.Feed(ViewOf({kShard0, kShard1, kShard2}));
  EXPECT_TRUE(runner.TakeAll<SendPull>().empty());
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();
  const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  runner.Feed(ViewOf({kShard0, kShard1}));
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  for (const SendPush& push : pushes) runner.Feed(PushDone{push.ticket, {}, {}, {}});
  EXPECT_EQ(runner.progress().batches_done, 1u);
}

TEST(TaskRunnerTest, UnderSspAShardThatJoinsIsToldTheClockAndOneThatLeavesIsNotWaitedFor) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  Driver runner(NewTaskRunner(lease));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  ASSERT_EQ(pushes.size(), 2u);
  runner.Feed(PushDone{pushes[0].ticket, {}, {}, {}});
  // The second shard has left without an answer, and had nothing.
  runner.Feed(ViewOf({kShard0, ShardIndex{5}}));
  const SendPush joined = runner.Take<SendPush>();
  EXPECT_EQ(joined.shard, ShardIndex{5});
  EXPECT_EQ(joined.clock, 1u);
  runner.Feed(PushDone{joined.ticket, {}, {}, {}});
  EXPECT_EQ(runner.progress().batches_done, 1u);
}

TEST(TaskRunnerTest, UnderSspAStepUnderWayIsNotFinishedAtAShardThatHasBeenGivenMoreOfIt) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  Driver runner(NewTaskRunner(lease));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  runner.Feed(PushDone{pushes.at(1).ticket, {}, {}, {}});
  EXPECT_EQ(runner.clock.ClockOf(kShard1), 1u);
  runner.Feed(Moved({kShard0, kShard1}, 0, {kShard1}));
  EXPECT_EQ(runner.clock.ClockOf(kShard1), 0u);
}

TEST(TaskRunnerTest, AnOldGenerationMeansThatTheLeaseIsLost) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  OutcomeSummary outcomes;
  outcomes.Count(v1::OUTCOME_OLD_GENERATION);
  runner.Feed(PushDone{runner.TakeAll<SendPush>()[0].ticket, {}, outcomes, {}});
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kLost);
  EXPECT_TRUE(runner.machine().finished());
}

TEST(TaskRunnerTest, BadRequestsEndTheLeaseWithTheirReason) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Feed(
      PullDone{runner.TakeAll<SendPull>()[0].ticket, absl::NotFoundError("no table 4"), {}});
  const Finished finished = runner.Take<Finished>();
  EXPECT_EQ(finished.why, Finished::Why::kFailed);
  EXPECT_EQ(finished.status.message(), "no table 4");
}

TEST(TaskRunnerTest, DrainedItFinishesItsStepAndReturnsTheLease) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  const Compute compute = runner.Take<Compute>();
  runner.Feed(Drain{runner.now + absl::Seconds(4)});
  EXPECT_TRUE(runner.TakeAll<Finished>().empty());
  runner.Feed(Computed{compute.batch, 1, false});
  runner.Push();
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kReturned);
  EXPECT_EQ(runner.progress().batches_done, 1u);
}

TEST(TaskRunnerTest, DrainedItIsOverByTheDeadline) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.Feed(Drain{runner.now + absl::Seconds(4)});
  runner.Wake();
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kReturned);
}

TEST(TaskRunnerTest, AStepWithoutAFiniteGradientIsNotPushedNorCountedAsTrained) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(1);
  runner.Pull();
  runner.Feed(Computed{runner.Take<Compute>().batch, 1, /*nonfinite=*/true});
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  EXPECT_EQ(runner.progress().batches_done, 1u);
  EXPECT_EQ(runner.progress().examples, 0u);
  EXPECT_EQ(runner.progress().nonfinite, 1u);
}

TEST(TaskRunnerTest, UnderSspEveryShardGetsEveryStep) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  lease.options.shards = {kShard0, kShard1, kShard2};
  Driver runner(NewTaskRunner(lease));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  ASSERT_EQ(pushes.size(), 3u);
  EXPECT_TRUE(pushes[2].empty) << "nothing of this batch is on shard 2";
  EXPECT_FALSE(pushes[1].empty);
  EXPECT_EQ(pushes[2].clock, 1u);
}

TEST(TaskRunnerTest, WithoutSspPushesTellNoClock) {
  Driver runner(NewTaskRunner(LeaseOfTask()));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  for (const SendPush& push : runner.TakeAll<SendPush>()) EXPECT_EQ(push.clock, 0u);
}

TEST(TaskRunnerTest, UnderSspARestartedShardIsToldTheClock) {
  TaskLease lease = LeaseOfTask();
  lease.options.ssp = true;
  Driver runner(NewTaskRunner(lease));
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  runner.Push();
  EXPECT_TRUE(runner.TakeAll<SendClock>().empty());
  runner.Feed(ViewChanged{.shards = {kShard0, kShard1}, .restarted = {kShard1}});
  const SendClock told = runner.Take<SendClock>();
  EXPECT_EQ(told.shard, kShard1);
  EXPECT_EQ(told.clock, 1u);
  EXPECT_EQ(told.stream->stream, lease.stream) << "a shard takes it under a lease alone";
  EXPECT_EQ(told.stream->generation, lease.options.generation);
}

TEST(TaskRunnerTest, AnEvaluationPullsAndPushesNothing) {
  TaskLease lease = LeaseOfTask();
  lease.evaluation = true;
  Driver runner(NewTaskRunner(lease));
  runner.Read(1);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  EXPECT_TRUE(pulls.at(0).evaluation);
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();
  EXPECT_TRUE(runner.TakeAll<SendPush>().empty());
  runner.Read(1);
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kDone);
}

TEST(OutcomeSummaryTest, CountsNothingAsSettledThatItDoesNotKnow) {
  OutcomeSummary outcomes;
  outcomes.Count(static_cast<v1::Outcome>(v1::Outcome_ARRAYSIZE), 2);
  outcomes.Count(v1::OUTCOME_APPLIED, 3);
  outcomes.Count(v1::OUTCOME_UNSPECIFIED, 4);
  EXPECT_EQ(outcomes.busy, 2u);
  EXPECT_EQ(outcomes.settled, 3u);
}

}  // namespace
}  // namespace capstan::worker
