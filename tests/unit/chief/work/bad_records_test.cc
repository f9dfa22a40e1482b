// The chief's machine: records that cannot be understood count once, whoever reads their task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// The task is done, and so many of its records were bad.
v1::LeaseReport DoneWithBad(const v1::Lease& lease, uint64_t bad) {
  v1::LeaseReport report = Crew::Done(lease);
  report.set_bad_records(bad);
  for (uint64_t i = 0; i < bad; ++i) {
    report.add_bad_record_examples(absl::StrCat("task ", lease.task().index(), ":", i, ": oops"));
  }
  return report;
}

TEST(ChiefBadRecordsTest, AddsUpThoseOfTasksThatAreDone) {
  Crew crew({.tasks = 4, .max_bad_records = 3});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = crew.Heartbeat("w");
  crew.Heartbeat("w", {DoneWithBad(first.leases(0), 1), DoneWithBad(first.leases(1), 2)});
  EXPECT_EQ(crew.Status().bad_records(), 3u);
  EXPECT_THAT(crew.Status().bad_record_examples(),
              ElementsAre("task 0:0: oops", "task 1:0: oops", "task 1:1: oops"));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefBadRecordsTest, OneMoreThanTheLimitFailsTheJobWhenReadAgainAndNamesTheFirst) {
  Crew crew({.tasks = 2, .max_bad_records = 3});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = crew.Heartbeat("w");
  const v1::WorkerHeartbeatReply again =
      crew.Heartbeat("w", {DoneWithBad(first.leases(0), 2), DoneWithBad(first.leases(1), 2)});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  ASSERT_THAT(again.leases(), SizeIs(1));
  crew.Heartbeat("w", {DoneWithBad(again.leases(0), 2)});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(crew.machine.failure_kind(), v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(crew.machine.reason(),
            "4 bad records, more than data.max_bad_records = 3; the first: task 0:0: oops");
}

TEST(ChiefBadRecordsTest, ATaskThatManyWorkersReadCountsOnce) {
  Crew crew({.tasks = 1, .max_bad_records = 2});
  crew.RegisterShards();
  for (int i = 0; i < 5; ++i) {
    const std::string name = absl::StrCat("w", i);
    crew.RegisterWorker(name);
    const v1::WorkerHeartbeatReply granted = crew.Heartbeat(name);
    ASSERT_THAT(granted.leases(), SizeIs(1));
    if (i == 4) {
      crew.Heartbeat(name, {DoneWithBad(granted.leases(0), 2)}, /*wants=*/false);
      break;
    }
    v1::LeaseReport back = DoneWithBad(granted.leases(0), 2);
    back.set_finished(false);
    back.set_returned(true);
    crew.Heartbeat(name, {back}, /*wants=*/false);
  }
  EXPECT_EQ(crew.Status().bad_records(), 2u);
  EXPECT_NE(crew.machine.state(), v1::JOB_STATE_FAILED);
}

TEST(ChiefBadRecordsTest, EpochsThatReadARecordAgainDoNotCountItAgain) {
  Crew crew({.tasks = 2, .epochs = 3, .max_bad_records = 3});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  std::vector<v1::LeaseReport> reports;
  for (int i = 0; i < 12; ++i) {
    const v1::WorkerHeartbeatReply granted = crew.Heartbeat("w", reports);
    reports.clear();
    for (const v1::Lease& lease : granted.leases()) {
      reports.push_back(DoneWithBad(lease, 1 + lease.task().index()));
    }
  }
  EXPECT_EQ(crew.Status().tasks().done(), 6u);
  EXPECT_EQ(crew.Status().bad_records(), 3u);
  EXPECT_THAT(crew.Status().bad_record_examples(), SizeIs(3));
  EXPECT_NE(crew.machine.state(), v1::JOB_STATE_FAILED);
}

TEST(ChiefBadRecordsTest, GoBackWithTheJobToACheckpointAndAreCountedAnew) {
  CrewOptions options = TenTasks();
  options.max_bad_records = 3;
  Crew crew(options);
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = crew.Heartbeat("w");
  crew.Heartbeat("w", {DoneWithBad(first.leases(0), 1)});
  crew.TakeCheckpoint();
  crew.Heartbeat("w", {DoneWithBad(first.leases(1), 2)});
  EXPECT_EQ(crew.Status().bad_records(), 3u);
  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  crew.AnswerCalls();
  EXPECT_EQ(crew.Status().bad_records(), 1u);
  const v1::WorkerHeartbeatReply again = crew.Heartbeat("w");
  for (const v1::Lease& lease : again.leases()) {
    if (lease.task().index() == 1) crew.Heartbeat("w", {DoneWithBad(lease, 2)});
  }
  EXPECT_EQ(crew.Status().bad_records(), 3u);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefBadRecordsTest, AreKnownToTheNextChief) {
  CrewOptions options = TenTasks();
  options.max_bad_records = 5;
  Crew before(options);
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = before.Heartbeat("w");
  before.Heartbeat("w", {DoneWithBad(first.leases(0), 2)});
  before.Advance(absl::Seconds(2));  // The state is stored.
  Crew crew = Crew::Successor(options, before);
  EXPECT_EQ(crew.Status().bad_records(), 2u);
  EXPECT_THAT(crew.Status().bad_record_examples(), ElementsAre("task 0:0: oops", "task 0:1: oops"));
}

TEST(ChiefBadRecordsTest, OfALaneCountWithTheTasksThatItTellsOfHoweverOftenItDoes) {
  Crew crew({.tasks = 4, .lanes = 1, .max_bad_records = 2});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::Lease lane = crew.Heartbeat("w").leases(0);
  v1::LeaseReport report = Crew::Partly(lane, 2);
  v1::LaneTaskDone& done = *report.add_lane_tasks_done();
  done.set_batches(2);
  done.set_examples(18);
  done.set_bad_records(2);
  done.add_bad_record_examples("train.csv:7: no label");
  crew.Heartbeat("w", {report});
  crew.Heartbeat("w", {report});
  EXPECT_EQ(crew.Status().bad_records(), 2u);
  EXPECT_THAT(crew.Status().bad_record_examples(), ElementsAre(HasSubstr(":7: no label")));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

}  // namespace
}  // namespace capstan::chief
