// The chief's machine: lanes, as synchronous jobs work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Position in the sequence of tasks -> lane, as leased.
std::map<uint64_t, uint32_t> TasksOf(const v1::WorkerHeartbeatReply& reply) {
  std::map<uint64_t, uint32_t> tasks;
  for (const v1::Lease& lease : reply.leases()) {
    for (const v1::LaneTask& task : lease.lane_tasks()) {
      tasks[task.data_epoch() * 100 + task.task().index()] = lease.lane();
    }
  }
  return tasks;
}

TEST(ChiefLanesTest, GivesLaneLTheTasksLAndLPlusNAndSoOn) {
  Crew crew({.tasks = 5, .epochs = 2, .lanes = 3});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  EXPECT_EQ(TasksOf(crew.Heartbeat("a")), (std::map<uint64_t, uint32_t>{{0, 0},
                                                                        {1, 1},
                                                                        {2, 2},
                                                                        {3, 0},
                                                                        {4, 1},
                                                                        {100, 2},
                                                                        {101, 0},
                                                                        {102, 1},
                                                                        {103, 2},
                                                                        {104, 0}}));
}

TEST(ChiefLanesTest, MovesLanesToANewcomerUnderNewGenerations) {
  Crew crew({.lanes = 4});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::WorkerHeartbeatReply before = crew.Heartbeat("a");
  ASSERT_THAT(before.leases(), SizeIs(4));
  crew.RegisterWorker("b");
  const v1::WorkerHeartbeatReply newcomer = crew.Heartbeat("b");
  ASSERT_THAT(newcomer.leases(), SizeIs(2));
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : before.leases()) reports.push_back(Crew::Partly(lease, 0));
  const v1::WorkerHeartbeatReply after = crew.Heartbeat("a", reports);
  EXPECT_THAT(after.revoked(), SizeIs(2));
  EXPECT_THAT(after.leases(), IsEmpty());
  for (const v1::Lease& lease : newcomer.leases()) {
    EXPECT_GT(lease.generation().count(), before.leases(3).generation().count());
  }
}

TEST(ChiefLanesTest, SpreadsFewLanesOverWorkersBeforeTheirThreads) {
  Crew crew({.threads = 4, .lanes = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  EXPECT_THAT(crew.Heartbeat("a").leases(), SizeIs(1));
  EXPECT_THAT(crew.Heartbeat("b").leases(), SizeIs(1));
}

TEST(ChiefLanesTest, ReleasesALaneAtTheFirstTaskThatIsNotDone) {
  Crew crew({.tasks = 6, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("dies");
  const v1::Lease lease = crew.Heartbeat("dies").leases(0);
  v1::LeaseReport report = Crew::Partly(lease, 5);  // Two tasks of two batches, and one batch.
  report.set_round(6);
  for (uint64_t ordinal : {0, 1}) {
    v1::LaneTaskDone& done = *report.add_lane_tasks_done();
    done.set_ordinal(ordinal);
    done.set_batches(2);
    done.set_examples(20);
  }
  crew.Heartbeat("dies", {report});
  EXPECT_EQ(crew.Status().examples(), 50u);
  EXPECT_EQ(crew.Status().round(), 5u);
  crew.RegisterWorker("dies", 999);
  const v1::Lease next = crew.Heartbeat("dies").leases(0);
  EXPECT_EQ(next.lane_tasks(0).ordinal(), 2u);
  EXPECT_EQ(next.lane_tasks(0).first_cursor(), 4u);
  EXPECT_EQ(next.lane_tasks_size(), 4);
  EXPECT_TRUE(next.lane_tasks_complete());
  EXPECT_EQ(crew.Status().examples(), 50u);
}

TEST(ChiefLanesTest, WhoLeavesInTheMiddleOfARoundHasItsLaneLeasedAgainAtOnce) {
  Crew crew({.lanes = 2});
  crew.RegisterShards();
  crew.RegisterWorker("stays");
  crew.RegisterWorker("leaves");
  const v1::WorkerHeartbeatReply own = crew.Heartbeat("stays"), given = crew.Heartbeat("leaves");
  ASSERT_THAT(given.leases(), SizeIs(1));
  const std::vector<v1::LeaseReport> reports = {Crew::Partly(own.leases(0), 0)};
  ASSERT_THAT(crew.Heartbeat("stays", reports).leases(), IsEmpty());
  // One round is closed, and its gradient for the next one may be staged already.
  v1::LeaseReport left = Crew::Partly(given.leases(0), 1);
  left.set_round(2);
  left.set_returned(true);
  crew.Heartbeat("leaves", {left}, /*wants=*/false, /*draining=*/true);
  const v1::WorkerHeartbeatReply heir = crew.Heartbeat("stays", reports);
  ASSERT_THAT(heir.leases(), SizeIs(1));
  EXPECT_EQ(heir.leases(0).lane(), given.leases(0).lane());
  EXPECT_EQ(heir.leases(0).lane_tasks(0).first_cursor(), 0u);
  EXPECT_GT(heir.leases(0).generation().count(), given.leases(0).generation().count());
}

// With which a round is held up by a dead worker for its lease of 10 s and no longer.
TEST(ChiefLanesTest, LeasesTheLaneOfASilentWorkerAgainWhenItsLeaseIsOverAndNotBefore) {
  Crew crew({.lanes = 2});
  crew.RegisterShards();
  crew.RegisterWorker("lives");
  crew.RegisterWorker("dies");
  const v1::WorkerHeartbeatReply own = crew.Heartbeat("lives"), last = crew.Heartbeat("dies");
  ASSERT_THAT(own.leases(), SizeIs(1));
  ASSERT_THAT(last.leases(), SizeIs(1));
  const std::vector<v1::LeaseReport> reports = {Crew::Partly(own.leases(0), 0)};
  for (int tenth = 1; tenth < 100; ++tenth) {
    crew.Advance(absl::Milliseconds(100));
    ASSERT_THAT(crew.Heartbeat("lives", reports).leases(), IsEmpty()) << tenth << " tenths";
  }
  crew.Advance(absl::Milliseconds(200));
  const v1::WorkerHeartbeatReply heir = crew.Heartbeat("lives", reports);
  ASSERT_THAT(heir.leases(), SizeIs(1));
  EXPECT_EQ(heir.leases(0).lane(), last.leases(0).lane());
  EXPECT_GT(heir.leases(0).generation().count(), last.leases(0).generation().count());
}

TEST(ChiefLanesTest, SendsFurtherTasksBeforeTheyAreNeeded) {
  Crew crew({.tasks = 30, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  v1::Lease lease = crew.Heartbeat("a").leases(0);
  const v1::Generation generation = lease.generation();
  ASSERT_FALSE(lease.lane_tasks_complete());
  std::set<uint64_t> known;
  for (const v1::LaneTask& task : lease.lane_tasks()) known.insert(task.ordinal());
  v1::LeaseReport report = Crew::Partly(lease, 0);
  for (uint64_t ordinal = 0; ordinal < 30; ++ordinal) {
    ASSERT_TRUE(known.contains(ordinal)) << "the holder has run out of tasks";
    v1::LaneTaskDone& done = *report.add_lane_tasks_done();
    done.set_ordinal(ordinal);
    done.set_batches(2);
    done.set_examples(20);
    report.set_batches_done(2 * (ordinal + 1));
    report.set_lane_tasks_known(*known.rbegin() + 1);
    report.set_finished(ordinal == 29);
    const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a", {report});
    for (const v1::Lease& more : reply.leases()) {
      EXPECT_EQ(more.generation().count(), generation.count());
      for (const v1::LaneTask& task : more.lane_tasks()) known.insert(task.ordinal());
    }
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefLanesTest, CountsEveryExampleOnceThoughABatchIsShortAndItsTaskToldLater) {
  Crew crew({.tasks = 1, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  // Its second batch has 8 examples of 10; that its task is over is told when the round is closed.
  crew.Heartbeat("a", {Crew::Partly(lease, 2)});
  EXPECT_EQ(crew.Status().examples(), 20u);
  v1::LeaseReport report = Crew::Done(lease);
  report.mutable_lane_tasks_done(0)->set_examples(18);
  crew.Heartbeat("a", {report});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().examples(), 18u);
}

TEST(ChiefLanesTest, LeasesEmptyLanesSoThatTheCoordinatorHearsOfTheirEnd) {
  Crew crew({.tasks = 1, .lanes = 3});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  ASSERT_THAT(reply.leases(), SizeIs(3));
  EXPECT_THAT(reply.leases(2).lane_tasks(), IsEmpty());
  EXPECT_TRUE(reply.leases(2).lane_tasks_complete());
}

TEST(ChiefLanesTest, FailsALaneThatEndsWithTasksLeft) {
  Crew crew({.tasks = 2, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  for (int attempt = 0; attempt < 3; ++attempt) {
    v1::LeaseReport report = Crew::Partly(crew.Heartbeat("a").leases(0), 0);
    report.set_finished(true);
    crew.Heartbeat("a", {report});
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), testing::HasSubstr("lane 0 ended with 0 of 2 tasks done"));
}

TEST(ChiefLanesTest, TakesTheLanesOfAStragglerAway) {
  Crew crew({.tasks = 40, .lanes = 4});
  crew.RegisterShards();
  std::map<std::string, v1::WorkerHeartbeatRequest> requests;
  for (const char* name : {"a", "b", "slow"}) {
    crew.RegisterWorker(name);
    requests[name] = crew.HeartbeatOf(name);
  }
  const auto beat = [&](const std::string& name, double step_seconds) {
    v1::WorkerHeartbeatRequest& request = requests[name];
    request.mutable_trainers(0)->set_step_seconds(step_seconds);
    const v1::WorkerHeartbeatReply reply = crew.machine.WorkerHeartbeat(request, crew.now);
    for (const v1::Lease& lease : reply.leases()) *request.add_leases() = Crew::Partly(lease, 0);
    return reply;
  };
  v1::WorkerHeartbeatReply slow;
  for (int second = 0; second < 13; ++second) {
    beat("a", 1);
    beat("b", 1);
    slow = beat("slow", 10);
    if (second < 6) {
      EXPECT_THAT(slow.revoked(), IsEmpty());
    }
    crew.Advance(absl::Seconds(1));
  }
  EXPECT_FALSE(slow.revoked().empty());
  EXPECT_TRUE(crew.Status().workers(2).straggler());
}

TEST(ChiefLanesTest, CountsAtABarrierWhatAHolderHasNotToldYet) {
  Crew crew({.tasks = 8, .lanes = 2, .max_steps = 1});
  crew.RegisterShards();
  crew.RegisterWorker("tells");
  crew.RegisterWorker("later");
  v1::LeaseReport report = Crew::Partly(crew.Heartbeat("tells").leases(0), 1);
  report.set_round(2);
  const v1::LeaseReport before = Crew::Partly(crew.Heartbeat("later").leases(0), 0);
  crew.round = 1;
  crew.lane_cursors = {1, 1};
  crew.Heartbeat("tells", {report});
  crew.Heartbeat("later", {before});
  crew.Heartbeat("tells");
  crew.Heartbeat("later");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().examples(), 20u);
}

TEST(ChiefLanesTest, EvaluatesAtARoundBarrierAndThenLetsRoundsGoOn) {
  Crew crew({.tasks = 4, .eval_tasks = 1, .epochs = 2, .lanes = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  const v1::GetStatusReply status = crew.Status();
  ASSERT_FALSE(status.evaluations().empty());
  for (const v1::Evaluation& evaluation : status.evaluations()) {
    EXPECT_TRUE(evaluation.at_round_boundary());
  }
  EXPECT_TRUE(status.evaluations().rbegin()->final());
  EXPECT_DOUBLE_EQ(status.evaluations(0).metrics().at("auc"), 1.0);
}

TEST(ChiefLanesTest, HoldsTheRoundsWhileItEvaluates) {
  Crew crew({.tasks = 4, .eval_tasks = 1, .epochs = 2, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lane = crew.Heartbeat("a").leases(0);
  v1::LeaseReport report = Crew::Partly(lane, 8);
  for (uint64_t ordinal = 0; ordinal < 4; ++ordinal) {
    v1::LaneTaskDone& done = *report.add_lane_tasks_done();
    done.set_ordinal(ordinal);
    done.set_batches(2);
    done.set_examples(20);
  }
  crew.round = 8;
  crew.Heartbeat("a", {report});
  EXPECT_EQ(crew.order, (std::vector<std::string>{"Hold", "Commit 8", "Commit 8"}));
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a", {report});
  ASSERT_THAT(reply.leases(), SizeIs(1));
  EXPECT_EQ(reply.leases(0).kind(), v1::LEASE_KIND_EVALUATION);
  crew.Heartbeat("a", {report, Crew::Done(reply.leases(0))});
  EXPECT_EQ(crew.order.back(), "Release");
}

}  // namespace
}  // namespace capstan::chief
