// When a task may pull: the window of pushes that are not acknowledged, and what is under way.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/unit/worker/machines/testing.h"
#include "worker/machines/task_runner.h"

namespace capstan::worker {
namespace {

TaskLease WindowLease(int push_window) {
  TaskLease lease;
  lease.options.generation = {1, 7};
  lease.options.shards = {kShard0, kShard1};
  lease.stream = {55};
  lease.push_window = push_window;
  return lease;
}

TEST(TaskWindowTest, APullDoesNotOvertakeThePushOfTheBatchBeforeTheLast) {
  Driver runner(NewTaskRunner(WindowLease(/*push_window=*/1)));
  runner.Read(9);
  runner.Pull();  // Batch 0, and while it computes
  runner.Read(9);
  runner.Pull();  // batch 1.
  EXPECT_EQ(runner.TakeAll<Compute>().size(), 2u);
  runner.Feed(Computed{0, 1, false});
  runner.Read(9);
  EXPECT_TRUE(runner.TakeAll<SendPull>().empty()) << "batch 0 is on its way";
  runner.Push();
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  ASSERT_EQ(pulls.size(), 2u) << "while batch 1 still computes";
  EXPECT_EQ(pulls[0].batch, 2u);
}

TEST(TaskWindowTest, WhatIsPulledIsHandedOverWhileTheBatchBeforeItComputes) {
  Driver runner(NewTaskRunner(WindowLease(/*push_window=*/1)));
  runner.Read(9);
  runner.Pull();
  EXPECT_EQ(runner.Take<Compute>().batch, 0u);
  runner.Read(9);
  runner.Pull();
  EXPECT_EQ(runner.Take<Compute>().batch, 1u) << "nobody has to be asked for it then";
  runner.Feed(Computed{0, 1, false});
  runner.Feed(Computed{1, 1, false});
  runner.Push();
  runner.Push();
  EXPECT_EQ(runner.progress().batches_done, 2u);
}

TEST(TaskWindowTest, DrainedItWaitsForTheStepThatIsComputedAndNotForThoseBehindIt) {
  Driver runner(NewTaskRunner(WindowLease(/*push_window=*/1)));
  runner.Read(9);
  runner.Pull();
  runner.Read(9);
  runner.Pull();
  EXPECT_EQ(runner.TakeAll<Compute>().size(), 2u);
  runner.Feed(Drain{runner.now + absl::Seconds(30)});
  EXPECT_TRUE(runner.TakeAll<Finished>().empty());
  runner.Feed(Computed{0, 1, false});
  runner.Feed(Computed{1, 1, false});
  runner.Push();
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kReturned);
  EXPECT_EQ(runner.progress().batches_done, 1u) << "whoever gets the lease computes batch 1";
}

// Whatever the window of tasks is: each step under way is lent memory.
TEST(TaskWindowTest, AnEvaluationHasNoMoreThanTwoStepsUnderWay) {
  TaskLease lease = WindowLease(/*push_window=*/4);
  lease.evaluation = true;
  Driver runner(NewTaskRunner(lease));
  for (int i = 0; i < 3; ++i) {
    runner.Read(9);
    runner.Pull();
  }
  EXPECT_EQ(runner.TakeAll<Compute>().size(), 2u);
  runner.Feed(Computed{0, 1, false});
  EXPECT_EQ(runner.TakeAll<SendPull>().at(0).batch, 2u);
}

// The window is the trainer's, whichever of its tasks steps are of.
TEST(TaskWindowTest, TheFirstPullOfATaskWaitsForStepsOfTheTaskBefore) {
  Driver before(NewTaskRunner(WindowLease(/*push_window=*/1)));
  for (int i = 0; i < 2; ++i) {
    before.Read(2);
    before.Pull();
  }
  before.Read(2);
  ASSERT_EQ(before.clock.open_steps(), 2u) << "both of its batches are computed";
  Driver next(NewTaskRunner(WindowLease(/*push_window=*/1)));
  next.clock = before.clock;
  next.Read(9);
  EXPECT_TRUE(next.TakeAll<SendPull>().empty());
  before.Feed(Computed{0, 1, false});
  before.Push();
  ASSERT_EQ(before.progress().batches_done, 1u);
  next.clock = before.clock;
  next.Feed(Tick{});
  EXPECT_EQ(next.TakeAll<SendPull>().size(), 2u) << "while the last one still computes";
}

TEST(TaskWindowTest, WhoIsRevokedHoldsUpNobody) {
  Driver runner(NewTaskRunner(WindowLease(/*push_window=*/4)));
  runner.Read(9);
  runner.Pull();
  EXPECT_GT(runner.clock.open_steps(), 0u);
  runner.Feed(Revoked{});
  EXPECT_EQ(runner.clock.open_steps(), 0u);
}

// What a shard does: it applies a push when it acknowledges it. Alone, a worker that always
// computes before it hears of its pushes is as stale as its window allows, and never more.
TEST(TaskWindowTest, AloneItIsNeverStalerThanItsWindow) {
  for (const int window : {1, 2, 3}) {
    Driver runner(NewTaskRunner(WindowLease(window)));
    std::map<uint64_t, uint64_t> pulled;  // Batch -> updates that its weights have.
    uint64_t applied = 0;
    uint64_t stalest = 0;
    while (!runner.machine().finished()) {
      runner.Read(20);
      for (const SendPull& pull : runner.TakeAll<SendPull>()) {
        pulled.try_emplace(pull.batch, applied);
        runner.Feed(PullDone{pull.ticket, {}, {}});
      }
      const std::vector<Compute> computes = runner.TakeAll<Compute>();
      for (const Compute& compute : computes) runner.Feed(Computed{compute.batch, 1, false});
      if (!computes.empty()) continue;
      const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
      for (const SendPush& push : pushes) {
        if (push.shard == kShard0) stalest = std::max(stalest, applied++ - pulled[push.batch]);
        runner.Feed(PushDone{push.ticket, {}, {}, {}});
      }
    }
    EXPECT_EQ(applied, 20u);
    EXPECT_EQ(stalest, static_cast<uint64_t>(window));
  }
}

TEST(TaskWindowTest, AnEvaluationPullsAheadWithoutWaiting) {
  TaskLease lease = WindowLease(/*push_window=*/1);
  lease.evaluation = true;
  Driver runner(NewTaskRunner(lease));
  runner.Read(9);
  runner.Pull();
  EXPECT_EQ(runner.Take<Compute>().batch, 0u);
  runner.Read(9);
  EXPECT_EQ(runner.TakeAll<SendPull>().at(0).batch, 1u);
}

TEST(TaskWindowTest, KeepsToItsWindow) {
  Driver runner(NewTaskRunner(WindowLease(/*push_window=*/2)));
  for (int i = 0; i < 6; ++i) {
    runner.Read(9);
    runner.Pull();
    runner.ComputeAll();
  }
  // Two steps are pushed and not acknowledged; one more is computed and waits.
  const std::vector<SendPush> pushes = runner.TakeAll<SendPush>();
  EXPECT_EQ(pushes.size(), 4u);
  EXPECT_EQ(pushes.back().batch, 1u);
  for (const SendPush& push : pushes) {
    if (push.batch == 0) runner.Feed(PushDone{push.ticket, {}, {}, {}});
  }
  EXPECT_EQ(runner.TakeAll<SendPush>().size(), 2u);
}

}  // namespace
}  // namespace capstan::worker
