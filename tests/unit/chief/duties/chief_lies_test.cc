// The chief's machine: what a worker says that lies, or is broken, and what comes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

v1::LeaseReport BadData(const v1::Lease& lease) {
  v1::LeaseReport report = Crew::Partly(lease, 0);
  report.set_error("train.csv:1: is not what it should be");
  report.set_bad_data(true);
  return report;
}

// Of a lease of an earlier chief's that no chief has granted.
v1::LeaseReport Invented(const Crew& crew, const std::string& worker) {
  v1::LeaseReport report;
  report.set_kind(v1::LEASE_KIND_TASK);
  report.set_timeline(crew.machine.view().timeline());
  report.set_trainer(crew.HeartbeatOf(worker).trainers(0).trainer());
  report.set_stream(StreamId::Task(0, 3).value);
  return report;
}

TEST(ChiefLiesTest, AReportOfALeaseThatNobodyHasGrantedChangesNothing) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  v1::LeaseReport done = Invented(crew, "liar");
  done.set_finished(true);
  done.set_bad_records(1);
  v1::LeaseReport nonfinite = Invented(crew, "liar");
  nonfinite.set_nonfinite_loss(true);
  v1::LeaseReport bad = Invented(crew, "liar");
  bad.set_error("bad");
  bad.set_bad_data(true);
  crew.Heartbeat("liar", {done, nonfinite, bad}, /*wants=*/false);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << crew.machine.reason();
  EXPECT_EQ(crew.Status().tasks().done(), 0u);
}

TEST(ChiefLiesTest, OneWorkerThatCallsTheDataBadDoesNotFailTheJobWhereAnotherReadsThem) {
  Crew crew({.tasks = 2});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  crew.RegisterWorker("honest");
  for (int beat = 0; beat < 20 && crew.machine.state() == v1::JOB_STATE_RUNNING; ++beat) {
    const v1::WorkerHeartbeatReply told = crew.Heartbeat("liar");
    std::vector<v1::LeaseReport> lies;
    for (const v1::Lease& lease : told.leases()) lies.push_back(BadData(lease));
    crew.Heartbeat("liar", lies);
    const v1::WorkerHeartbeatReply given = crew.Heartbeat("honest");
    std::vector<v1::LeaseReport> truths;
    for (const v1::Lease& lease : given.leases()) truths.push_back(Crew::Done(lease));
    crew.Heartbeat("honest", truths);
  }
  EXPECT_NE(crew.machine.state(), v1::JOB_STATE_FAILED) << crew.machine.reason();
  EXPECT_EQ(crew.Status().tasks().done(), 2u);
}

TEST(ChiefLiesTest, ALossThatIsNotFiniteWantsASecondWorkersWord) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  v1::LeaseReport report = Crew::Partly(crew.Heartbeat("a").leases(0), 1);
  report.set_nonfinite_loss(true);
  EXPECT_THAT(crew.Heartbeat("a", {report}).leases(), IsEmpty()) << "it has said its word";
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  const v1::WorkerHeartbeatReply other = crew.Heartbeat("b");
  ASSERT_THAT(other.leases(), SizeIs(1));
  report = Crew::Partly(other.leases(0), 1);
  report.set_nonfinite_loss(true);
  crew.Heartbeat("b", {report});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("the loss is not finite"));
}

TEST(ChiefLiesTest, BadRecordsThatWouldFailTheJobAreCountedByAnotherFirst) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  crew.RegisterWorker("honest");
  v1::LeaseReport report = Crew::Done(crew.Heartbeat("liar").leases(0));
  report.set_bad_records(1);
  crew.Heartbeat("liar", {report});
  const v1::WorkerHeartbeatReply other = crew.Heartbeat("honest");
  ASSERT_THAT(other.leases(), SizeIs(1));
  crew.Heartbeat("honest", {Crew::Done(other.leases(0))});
  EXPECT_NE(crew.machine.state(), v1::JOB_STATE_FAILED) << crew.machine.reason();
  EXPECT_EQ(crew.Status().bad_records(), 0u);
}

TEST(ChiefLiesTest, ALaneThatItsHolderCallsBadGoesToAnother) {
  Crew crew({.tasks = 2, .lanes = 1});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  const v1::Lease lane = crew.Heartbeat("liar").leases(0);
  crew.RegisterWorker("honest");
  EXPECT_THAT(crew.Heartbeat("liar", {BadData(lane)}).leases(), IsEmpty());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.Heartbeat("honest").leases(), SizeIs(1));
  EXPECT_THAT(crew.Heartbeat("liar").leases(), IsEmpty());
}

TEST(ChiefLiesTest, WorkersOfOneAddressHaveOneVoiceBesideOthers) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("liar-1", 0, {}, "10.0.0.6");
  crew.RegisterWorker("liar-2", 0, {}, "10.0.0.6");
  crew.RegisterWorker("honest", 0, {}, "10.0.0.7");
  crew.Heartbeat("liar-1", {BadData(crew.Heartbeat("liar-1").leases(0))});
  EXPECT_THAT(crew.Heartbeat("liar-2").leases(), IsEmpty());
  EXPECT_THAT(crew.Heartbeat("honest").leases(), SizeIs(1));
}

TEST(ChiefLiesTest, NumbersThatNoTaskHasAreNotTaken) {
  Crew crew({.tasks = 2, .evaluate_every = 10});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  crew.RegisterWorker("honest");
  v1::LeaseReport report = Crew::Partly(crew.Heartbeat("liar").leases(0), 0);
  report.set_batches_done(uint64_t{1} << 55);
  crew.Heartbeat("liar", {report});
  EXPECT_EQ(crew.Status().examples(), 0u);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefLiesTest, ATaskHasNoMoreBatchesThanItsRecordsFill) {
  for (const bool text : {false, true}) {
    Crew crew({.tasks = 4, .text = text, .max_steps = 20});
    crew.RegisterShards();
    crew.RegisterWorker("liar");
    v1::LeaseReport report = Crew::Partly(crew.Heartbeat("liar").leases(0), 0);
    report.set_batches_done(20);  // It has 20 records, in batches of 10.
    crew.Heartbeat("liar", {report}, /*wants=*/false);
    EXPECT_EQ(crew.Status().global_step(), 0u);
    EXPECT_EQ(crew.Status().tasks().retries(), 1u);
  }
}

// The worker "liar" reports its tasks as done until the chief has been told of ten batches.
void TellOfTenBatches(Crew& crew) {
  std::vector<v1::LeaseReport> done;
  for (int i = 0; i < 20 && crew.Status().global_step() < 10; ++i) {
    const v1::WorkerHeartbeatReply reply = crew.Heartbeat("liar", done);
    done.clear();
    for (const v1::Lease& lease : reply.leases()) done.push_back(Crew::Done(lease));
  }
  ASSERT_GE(crew.Status().global_step(), 10u);
}

TEST(ChiefLiesTest, BatchesThatNobodyHasPushedDoNotReachMaxSteps) {
  Crew crew({.tasks = 50, .text = true, .max_steps = 10, .dense_floats = 1});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  ASSERT_NO_FATAL_FAILURE(TellOfTenBatches(crew));
  crew.Advance(absl::Seconds(5));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  crew.reports[1].set_version(9);
  crew.ShardsHeartbeat();
  for (int i = 0; i < 3; ++i) crew.Heartbeat("liar");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  crew.reports[1].set_version(10);  // Others have trained so many by now.
  crew.ShardsHeartbeat();
  for (int i = 0; i < 3; ++i) crew.Heartbeat("liar");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

// Each batch that others have trained has changed every partition, and one of these counts it.
TEST(ChiefLiesTest, NorDoTheyWhereOnlyTablesAreTrained) {
  Crew crew({.tasks = 50, .text = true, .max_steps = 10});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  ASSERT_NO_FATAL_FAILURE(TellOfTenBatches(crew));
  const auto train = [&crew](uint64_t batches) {
    for (const uint32_t shard : {0u, 1u}) {
      crew.reports[shard].Clear();
      crew.reports[shard].set_version(batches);
    }
    for (int partition = 0; partition < crew.machine.view().owners_size(); ++partition) {
      v1::ShardReport& report = crew.reports[crew.machine.view().owners(partition)];
      v1::PartitionLoad& load = *report.add_partitions();
      load.set_partition(static_cast<uint32_t>(partition));
      load.set_batches(partition == 0 ? batches : 0);
    }
    crew.ShardsHeartbeat();
    for (int i = 0; i < 3; ++i) crew.Heartbeat("liar");
    return crew.machine.state();
  };
  EXPECT_EQ(train(0), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(train(9), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(train(10), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefLiesTest, ARoundThatCannotHaveClosedIsNotTakenAndItsLaneGoesToAnother) {
  for (const uint64_t max_steps : {0, 50}) {
    Crew crew({.tasks = 100, .lanes = 2, .max_steps = max_steps});
    crew.RegisterShards();
    crew.RegisterWorker("liar");
    crew.RegisterWorker("honest");
    v1::LeaseReport report = Crew::Partly(crew.Heartbeat("liar").leases(0), 1);
    report.set_round(~uint64_t{0});
    crew.Heartbeat("liar", {report});
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
    EXPECT_EQ(crew.Status().global_step(), 0u);
    EXPECT_EQ(crew.Status().tasks().retries(), 1u);
  }
}

// It has two lanes of 50 tasks, of which a worker may have so many without having told.
TEST(ChiefLiesTest, ThatTheLastRoundIsClosedTheCoordinatorSays) {
  Crew crew({.tasks = 100, .lanes = 2, .max_steps = 10});
  crew.RegisterShards();
  crew.RegisterWorker("liar");
  crew.RegisterWorker("honest");
  crew.round = 3;
  crew.lane_cursors = {3, 3};
  v1::LeaseReport report = Crew::Partly(crew.Heartbeat("liar").leases(0), 11);
  report.set_round(12);
  crew.Heartbeat("liar", {report});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.Status().global_step(), 3u);
  EXPECT_EQ(crew.answered["Hold"], 1);
  EXPECT_GE(crew.answered["Release"], 1) << "the rounds go on";
  crew.Heartbeat("honest");
  EXPECT_THAT(crew.Heartbeat("honest").revoked(), IsEmpty());

  crew.round = 10;
  crew.lane_cursors = {10, 10};
  report.set_batches_done(10);
  report.set_round(11);
  crew.Heartbeat("liar", {report});
  crew.Heartbeat("liar");
  crew.Heartbeat("honest");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED) << crew.machine.reason();
  EXPECT_EQ(crew.Status().global_step(), 10u);
}

TEST(ChiefLiesTest, WhatAWorkerSaysInManyWordsIsKeptInFew) {
  Crew crew({.tasks = 4, .max_bad_records = 100});
  crew.RegisterShards();
  crew.RegisterWorker("talks");
  v1::LeaseReport done = Crew::Done(crew.Heartbeat("talks").leases(0));
  done.set_bad_records(20);
  for (int i = 0; i < 20; ++i) {
    done.add_bad_record_examples(absl::StrCat(i, std::string(1 << 20, 'x')));
  }
  v1::WorkerHeartbeatReply given = crew.Heartbeat("talks", {done});
  ASSERT_THAT(given.leases(), Not(IsEmpty()));
  const v1::GetStatusReply status = crew.Status();
  ASSERT_THAT(status.bad_record_examples(), SizeIs(10));
  for (const std::string& example : status.bad_record_examples()) {
    EXPECT_THAT(example, SizeIs(1024));
    EXPECT_THAT(example, testing::EndsWith("x..."));
  }
  v1::LeaseReport failed = Crew::Partly(given.leases(0), 0);
  failed.set_error(std::string(1 << 20, 'y'));
  crew.log.clear();
  crew.Heartbeat("talks", {failed});
  for (const LogEvent& event : crew.log) {
    for (const auto& [key, value] : event.fields) EXPECT_LE(value.size(), 4096u) << key;
  }
  EXPECT_FALSE(crew.log.empty());
}

TEST(ChiefLiesTest, AWorkerThatIsThereIsNotReplacedByAnotherOfItsName) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("w", 5);
  const v1::WorkerHeartbeatReply before = crew.Heartbeat("w");
  v1::RegisterWorkerRequest request;
  request.set_wire_version(1);
  request.set_name("w");
  request.set_incarnation(6);
  const auto reply = crew.machine.RegisterWorker(request, crew.now);
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(reply.status().message(), HasSubstr("there is a worker w"));
  EXPECT_TRUE(crew.Heartbeat("w").known());
  // It may take its own place at once, which it shows by its incarnation.
  request.set_former(5);
  EXPECT_TRUE(crew.machine.RegisterWorker(request, crew.now).ok());
}

v1::LeaseReport UserCode(const v1::Lease& lease, const std::string& place) {
  v1::LeaseReport report = Crew::Partly(lease, 0);
  report.set_error(absl::StrCat(place, ": ValueError: no"));
  report.mutable_user_code()->set_type("ValueError");
  report.mutable_user_code()->set_place(place);
  report.mutable_user_code()->set_message("no");
  report.mutable_user_code()->set_traceback("in step\n    raise ValueError('no')\n");
  return report;
}

// Whatever they were at: it is the program that fails there.
TEST(ChiefLiesTest, AProgramThatFailsTwiceInOnePlaceFailsTheJobWithItsWords) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.RegisterWorker("a", 0, {}, "10.0.0.1");
  crew.RegisterWorker("b", 0, {}, "10.0.0.2");
  const v1::Lease of_a = crew.Heartbeat("a").leases(0), of_b = crew.Heartbeat("b").leases(0);
  crew.Heartbeat("a", {UserCode(of_a, "m.py:31")}, /*wants=*/false);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << crew.machine.reason();
  crew.Heartbeat("b", {UserCode(of_b, "m.py:31")}, /*wants=*/false);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("m.py:31: ValueError: no (in the program of worker "
                                               "b; the end of its traceback: in step |"));
}

TEST(ChiefLiesTest, AProgramThatFailsInTwoPlacesIsGivenTheWorkAgain) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.RegisterWorker("a", 0, {}, "10.0.0.1");
  crew.RegisterWorker("b", 0, {}, "10.0.0.2");
  const v1::Lease of_a = crew.Heartbeat("a").leases(0), of_b = crew.Heartbeat("b").leases(0);
  crew.Heartbeat("a", {UserCode(of_a, "m.py:31")}, /*wants=*/false);
  crew.Heartbeat("b", {UserCode(of_b, "m.py:32")}, /*wants=*/false);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << crew.machine.reason();
}

}  // namespace
}  // namespace capstan::chief
