// The chief's machine: leases of tasks, as async and ssp work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ChiefTasksTest, GivesATrainerASpareTaskWhileThereIsEnoughForAll) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  EXPECT_THAT(crew.Heartbeat("a").leases(), SizeIs(2));
  EXPECT_THAT(crew.Heartbeat("b").leases(), SizeIs(2));
}

TEST(ChiefTasksTest, KeepsTheLastTasksForThoseWithoutAny) {
  Crew crew({.tasks = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  EXPECT_THAT(crew.Heartbeat("a").leases(), SizeIs(1));
  EXPECT_THAT(crew.Heartbeat("b").leases(), SizeIs(1));
}

TEST(ChiefTasksTest, GivesNothingToATrainerThatDoesNotAsk) {
  Crew crew;
  crew.RegisterShards();
  crew.RegisterWorker("a");
  EXPECT_THAT(crew.Heartbeat("a", {}, /*wants=*/false).leases(), IsEmpty());
}

TEST(ChiefTasksTest, SendsALeaseAgainUntilItIsReported) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  const v1::WorkerHeartbeatReply again = crew.Heartbeat("a");
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(again.leases(0).SerializeAsString(), lease.SerializeAsString());
  EXPECT_THAT(crew.Heartbeat("a", {Crew::Partly(lease, 0)}).leases(), IsEmpty());
}

TEST(ChiefTasksTest, TellsAWorkerToForgetALeaseThatIsNotItsOwn) {
  Crew crew({.tasks = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("b", {Crew::Done(lease)});
  ASSERT_THAT(reply.revoked(), SizeIs(1));
  EXPECT_EQ(reply.revoked(0).count(), lease.generation().count());
  EXPECT_EQ(crew.Status().examples(), 0u);
}

TEST(ChiefTasksTest, CountsEveryRecordOnceHoweverOftenItsTaskIsLeasedAndReported) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease first = crew.Heartbeat("a").leases(0);
  v1::LeaseReport partly = Crew::Partly(first, 1);
  crew.Heartbeat("a", {partly});
  EXPECT_EQ(crew.Status().examples(), 10u);
  partly.set_returned(true);
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a", {partly});
  ASSERT_THAT(reply.leases(), SizeIs(1));
  EXPECT_EQ(crew.Status().examples(), 10u);
  crew.Heartbeat("a", {Crew::Done(reply.leases(0))});
  crew.Heartbeat("a", {Crew::Done(reply.leases(0))});
  EXPECT_EQ(crew.Status().examples(), 20u);
  EXPECT_EQ(crew.Status().global_step(), 2u);
}

TEST(ChiefTasksTest, ClosesStreamsOnEveryShardAfterTheirTaskIsDone) {
  Crew crew({.tasks = 2, .epochs = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  const std::map<uint64_t, uint64_t> all = {
      {0, 2}, {1, 2}, {(1ull << 32) | 0, 2}, {(1ull << 32) | 1, 2}};
  EXPECT_EQ(crew.closed[0], all);
  EXPECT_EQ(crew.closed[1], all);
}

TEST(ChiefTasksTest, RepeatsACloseUntilTheShardHasAnswered) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  crew.hold_calls = true;
  crew.Heartbeat("a", {Crew::Done(lease)});
  ASSERT_FALSE(crew.held.empty());
  for (const CallShard& call : std::exchange(crew.held, {})) {
    crew.machine.OnShardReply(call.call, absl::UnavailableError("away"), crew.now);
  }
  crew.hold_calls = false;
  EXPECT_TRUE(crew.closed[0].empty());
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.closed[0].size(), 1u);
  EXPECT_EQ(crew.closed[1].size(), 1u);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefTasksTest, GoesFromEpochToEpochWithoutAGap) {
  Crew crew({.tasks = 2, .epochs = 2, .shuffle = true});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  std::set<std::pair<uint32_t, uint32_t>> seen;
  std::vector<v1::LeaseReport> reports;
  for (int i = 0; i < 4; ++i) {
    const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a", reports);
    reports.clear();
    for (const v1::Lease& lease : reply.leases()) {
      seen.insert({lease.data_epoch(), lease.task().index()});
      reports.push_back(Crew::Done(lease));
    }
    if (i == 0) {
      EXPECT_THAT(reports, SizeIs(2));
    }
  }
  EXPECT_EQ(seen, (std::set<std::pair<uint32_t, uint32_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(ChiefTasksTest, GivesAFailedTaskToAnotherAndFailsTheJobWhenItFailsTooOften) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
    ASSERT_THAT(reply.leases(), SizeIs(1));
    v1::LeaseReport report = Crew::Partly(reply.leases(0), 0);
    report.set_error("train.csv: cannot be read");
    reply = crew.Heartbeat("a", {report});
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(crew.machine.failure_kind(), v1::FAILURE_KIND_ERROR);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("train.csv: cannot be read (failed 3 times)"));
}

TEST(ChiefTasksTest, FailsForBadDataOnceTheyHaveBeenReadAgainAndBlamesTheInput) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  for (int attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
    v1::LeaseReport report = Crew::Partly(reply.leases(0), 0);
    report.set_error("train.csv:12345: 3 columns, expected 40");
    report.set_bad_data(true);
    reply = crew.Heartbeat("a", {report});
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(crew.machine.failure_kind(), v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(crew.machine.reason(), "train.csv:12345: 3 columns, expected 40");
}

TEST(ChiefTasksTest, StopsOnALossThatIsNotFinite) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  for (int attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
    v1::LeaseReport report = Crew::Partly(reply.leases(0), 1);
    report.set_loss_sum(std::nan(""));
    reply = crew.Heartbeat("a", {report});
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("not finite"));
}

TEST(ChiefTasksTest, ShowsProgressTimeLeftAndLoss) {
  Crew crew({.tasks = 10});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  std::vector<v1::LeaseReport> reports;
  for (int i = 0; i < 5; ++i) {
    const v1::Lease lease = crew.Heartbeat("a", reports).leases(0);
    reports = {Crew::Done(lease)};
    crew.Advance(absl::Seconds(1));
  }
  crew.Heartbeat("a", reports);
  const v1::GetStatusReply status = crew.Status();
  EXPECT_EQ(status.examples_expected(), 200u);
  EXPECT_GE(status.examples(), 100u);
  EXPECT_DOUBLE_EQ(status.progress(), static_cast<double>(status.examples()) / 200);
  EXPECT_NEAR(status.loss(), 0.5, 1e-9);
  EXPECT_GT(status.eta_seconds(), 0);
  EXPECT_LT(status.eta_seconds(), 20);
}

// What is told of all examples when three of a thousand tasks are done, with so many each.
uint64_t ExpectedAfter(const CrewOptions& options, const std::vector<uint64_t>& examples) {
  Crew crew(options);
  crew.RegisterShards();
  crew.RegisterWorker("a");
  std::vector<v1::LeaseReport> reports;
  for (const uint64_t count : examples) {
    reports = {Crew::Done(crew.Heartbeat("a", reports).leases(0))};
    reports[0].set_examples(count);
    reports[0].set_total_examples(count);
  }
  crew.Heartbeat("a", reports);
  return crew.Status().examples_expected();
}

TEST(ChiefTasksTest, TellsAnEstimateOfAllExamplesInThreeDigits) {
  EXPECT_EQ(ExpectedAfter({.tasks = 1000, .counted = false}, {19, 20, 20}), 19700u)
      << "59 in three of a thousand tasks";
}

TEST(ChiefTasksTest, AnEstimateFromASampleOfTextDoesNotWanderWithEachTask) {
  EXPECT_EQ(ExpectedAfter({.tasks = 1000, .text = true}, {19, 19, 19}), 20000u);
  EXPECT_EQ(ExpectedAfter({.tasks = 1000}, {19, 19, 19}), 19997u) << "counted, and three are bad";
}

}  // namespace
}  // namespace capstan::chief
