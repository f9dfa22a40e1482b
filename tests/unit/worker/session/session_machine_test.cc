#include "worker/session/session_machine.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan::worker {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

SessionMachine TwoTrainers() {
  return SessionMachine({.name = "w-0",
                         .incarnation = Incarnation{77},
                         .trainers = {TrainerId{1}, TrainerId{2}},
                         .heartbeat = absl::Seconds(1)});
}

v1::WorkerHeartbeatReply Known(v1::JobState state = v1::JOB_STATE_RUNNING) {
  v1::WorkerHeartbeatReply reply;
  reply.set_known(true);
  reply.set_state(state);
  return reply;
}

v1::WorkerHeartbeatReply Granting(uint64_t count, uint64_t trainer) {
  v1::WorkerHeartbeatReply reply = Known();
  v1::Lease& lease = *reply.add_leases();
  lease.set_kind(v1::LEASE_KIND_TASK);
  lease.mutable_generation()->set_term(1);
  lease.mutable_generation()->set_count(count);
  lease.set_trainer(trainer);
  return reply;
}

v1::LeaseReport ReportOf(uint64_t count, uint64_t batches) {
  v1::LeaseReport report;
  report.mutable_generation()->set_term(1);
  report.mutable_generation()->set_count(count);
  report.set_batches_done(batches);
  return report;
}

TEST(SessionMachineTest, AWishMakesTheHeartbeatUrgent) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Known(), kStart);
  EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Seconds(1));
  session.SetWantsLease(TrainerId{2}, true);
  EXPECT_LT(session.NextHeartbeat(), kStart + absl::Milliseconds(10));
  v1::WorkerHeartbeatRequest request = session.BeginHeartbeat(kStart);
  EXPECT_FALSE(request.trainers(0).wants_lease());
  EXPECT_TRUE(request.trainers(1).wants_lease());
}

v1::LeaseReport EvaluatedBy(uint64_t count, uint64_t trainer) {
  v1::LeaseReport report = ReportOf(count, 1);
  report.set_kind(v1::LEASE_KIND_EVALUATION);
  report.set_trainer(trainer);
  report.set_finished(true);
  for (int i = 0; i < 100; ++i) report.mutable_evaluation()->mutable_groups()->add_groups(7);
  return report;
}

TEST(SessionMachineTest, ResultsOfEvaluationsThatAreTooLargeForOneHeartbeatGoInSeveral) {
  SessionMachine session({.name = "w-0",
                          .incarnation = Incarnation{77},
                          .trainers = {TrainerId{1}, TrainerId{2}},
                          .heartbeat = absl::Seconds(1),
                          .most_result_bytes = 1000});  // One result has 800 and more.
  session.BeginHeartbeat(kStart);
  v1::WorkerHeartbeatReply reply = Granting(1, 1);
  reply.MergeFrom(Granting(2, 2));
  session.EndHeartbeat(reply, kStart);
  session.Report(EvaluatedBy(1, 1));
  session.Report(EvaluatedBy(2, 2));
  v1::WorkerHeartbeatRequest request = session.BeginHeartbeat(kStart);
  ASSERT_EQ(request.leases_size(), 2);
  EXPECT_TRUE(request.leases(0).finished());
  EXPECT_FALSE(request.leases(1).finished()) << "told as if it went on";
  EXPECT_FALSE(request.leases(1).has_evaluation());
  EXPECT_EQ(request.leases(1).trainer(), 2u);
  session.EndHeartbeat(Known(), kStart);
  EXPECT_LT(session.NextHeartbeat(), kStart + absl::Milliseconds(10)) << "the next one is urgent";
  request = session.BeginHeartbeat(kStart);
  ASSERT_EQ(request.leases_size(), 1);
  EXPECT_TRUE(request.leases(0).finished());
  EXPECT_EQ(request.leases(0).evaluation().groups().groups_size(), 100);
  session.EndHeartbeat(Known(), kStart);
  EXPECT_EQ(session.leases(), 0u);
}

TEST(SessionMachineTest, AnUnmetWishIsRepeatedAfterADoublingWaitWhileTheJobRuns) {
  SessionMachine session = TwoTrainers();
  session.SetWantsLease(TrainerId{1}, true);
  for (int wait : {25, 50, 100, 200, 400, 800, 1000, 1000}) {
    session.BeginHeartbeat(kStart);
    session.EndHeartbeat(Known(), kStart);
    EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Milliseconds(wait));
  }
}

TEST(SessionMachineTest, AnUnmetWishOfACompletedJobWaitsForTheOrdinaryHeartbeat) {
  SessionMachine session = TwoTrainers();
  session.SetWantsLease(TrainerId{1}, true);
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Known(v1::JOB_STATE_COMPLETED), kStart);
  EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Seconds(1));
}

TEST(SessionMachineTest, TheChiefIsToldAtOnceWhenAsMuchHasBeenTrainedAsItWantsToHearOf) {
  SessionMachine session = TwoTrainers();
  session.SetTellEvery(100, absl::Milliseconds(20));
  session.SetTrained(30);
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Known(), kStart);
  session.SetTrained(129);
  EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Seconds(1));
  session.SetTrained(130);
  EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Milliseconds(20)) << "others tell of theirs";
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Known(), kStart);
  EXPECT_EQ(session.NextHeartbeat(), kStart + absl::Seconds(1));
}

TEST(SessionMachineTest, TheJobsProgressIsWhatTheLastAnswerSays) {
  SessionMachine session = TwoTrainers();
  for (uint64_t examples : {500, 200}) {  // It goes back where a checkpoint is returned to.
    session.BeginHeartbeat(kStart);
    v1::WorkerHeartbeatReply reply = Known();
    reply.set_examples(examples);
    EXPECT_EQ(session.EndHeartbeat(reply, kStart).progress.examples, examples);
  }
}

TEST(SessionMachineTest, OnlyOneHeartbeatIsUnderWay) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.SetWantsLease(TrainerId{1}, true);
  EXPECT_EQ(session.NextHeartbeat(), absl::InfiniteFuture());
}

TEST(SessionMachineTest, ALeaseIsGrantedOnceAndThenExtended) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  EXPECT_EQ(session.EndHeartbeat(Granting(5, 1), kStart).granted.size(), 1u);
  session.BeginHeartbeat(kStart);
  Orders orders = session.EndHeartbeat(Granting(5, 1), kStart);
  EXPECT_TRUE(orders.granted.empty());
  EXPECT_EQ(orders.extended.size(), 1u);
}

TEST(SessionMachineTest, TheLastReportIsRepeatedUntilItHasBeenAnswered) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Granting(5, 1), kStart);
  v1::LeaseReport last = ReportOf(5, 9);
  last.set_finished(true);
  session.Report(last);
  session.BeginHeartbeat(kStart);
  session.HeartbeatFailed(kStart);
  EXPECT_FALSE(session.Settled());
  v1::WorkerHeartbeatRequest again = session.BeginHeartbeat(kStart);
  ASSERT_EQ(again.leases_size(), 1);
  EXPECT_TRUE(again.leases(0).finished());
  session.EndHeartbeat(Known(), kStart);
  EXPECT_EQ(session.leases(), 0u);
}

TEST(SessionMachineTest, AnIdleWorkerThatLeavesIsSettledWhenTheChiefHasHeardOfIt) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);  // Without a word of leaving.
  session.Drain();
  EXPECT_FALSE(session.Settled());
  session.EndHeartbeat(Known(), kStart);
  EXPECT_FALSE(session.Settled());
  EXPECT_TRUE(session.BeginHeartbeat(kStart).draining());
  session.HeartbeatFailed(kStart);
  EXPECT_FALSE(session.Settled());
  EXPECT_TRUE(session.BeginHeartbeat(kStart).draining());
  session.EndHeartbeat(Known(), kStart);
  EXPECT_TRUE(session.Settled());
}

TEST(SessionMachineTest, AfterTheJobsEndNobodyNeedsToHearThatAWorkerLeaves) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  v1::WorkerHeartbeatReply reply = Known();
  reply.set_state(v1::JOB_STATE_COMPLETED);
  session.EndHeartbeat(reply, kStart);
  session.Drain();
  EXPECT_TRUE(session.Settled());
}

TEST(SessionMachineTest, AnEndThatComesDuringAHeartbeatIsSentWithTheNext) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Granting(5, 1), kStart);
  session.BeginHeartbeat(kStart);
  v1::LeaseReport last = ReportOf(5, 9);
  last.set_returned(true);
  session.Report(last);
  session.EndHeartbeat(Known(), kStart);
  EXPECT_FALSE(session.Settled());
  EXPECT_EQ(session.BeginHeartbeat(kStart).leases_size(), 1);
}

TEST(SessionMachineTest, NothingIsReportedOfARevokedLease) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Granting(5, 1), kStart);
  v1::WorkerHeartbeatReply reply = Known();
  reply.add_revoked()->set_term(1);
  reply.mutable_revoked(0)->set_count(5);
  session.BeginHeartbeat(kStart);
  EXPECT_EQ(session.EndHeartbeat(reply, kStart).revoked.size(), 1u);
  session.Report(ReportOf(5, 3));
  EXPECT_EQ(session.BeginHeartbeat(kStart).leases_size(), 0);
}

TEST(SessionMachineTest, TellsAChiefThatDidNotKnowItOfAllThatItHolds) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  session.EndHeartbeat(Granting(5, 1), kStart);
  v1::LeaseReport done;
  done.mutable_generation()->set_term(1);
  done.mutable_generation()->set_count(5);
  done.set_finished(true);
  session.Report(done);
  session.BeginHeartbeat(kStart);
  EXPECT_FALSE(session.EndHeartbeat(v1::WorkerHeartbeatReply(), kStart).known);
  const v1::WorkerHeartbeatRequest again = session.BeginHeartbeat(kStart);
  ASSERT_EQ(again.leases_size(), 1);
  EXPECT_TRUE(again.leases(0).finished()) << "nobody has taken it down yet";
}

TEST(SessionMachineTest, ForgetsWhatBelongsToAnEarlierTimeline) {
  SessionMachine session = TwoTrainers();
  session.BeginHeartbeat(kStart);
  v1::WorkerHeartbeatReply granting = Granting(5, 1);
  granting.mutable_leases(0)->set_timeline(3);
  session.EndHeartbeat(granting, kStart);
  session.ForgetBefore(3);
  EXPECT_EQ(session.leases(), 1u);
  session.ForgetBefore(4);
  EXPECT_EQ(session.leases(), 0u);
}

TEST(SessionMachineTest, ADrainingWorkerAsksForNothing) {
  SessionMachine session = TwoTrainers();
  session.SetWantsLease(TrainerId{1}, true);
  session.Drain();
  v1::WorkerHeartbeatRequest request = session.BeginHeartbeat(kStart);
  EXPECT_TRUE(request.draining());
  EXPECT_FALSE(request.trainers(0).wants_lease());
}

TEST(SessionMachineTest, ItsLineShowsWhatAHeartbeatWouldTellAndNoTimes) {
  SessionMachine session = TwoTrainers();
  const std::string before = session.DebugString();
  EXPECT_NE(session.NextHeartbeat(), absl::InfiniteFuture()) << "none is under way";
  session.BeginHeartbeat(kStart);
  session.HeartbeatFailed(kStart);
  EXPECT_EQ(session.DebugString(), before);
  session.SetWantsLease(TrainerId{2}, true);
  EXPECT_NE(session.DebugString(), before);
}

}  // namespace
}  // namespace capstan::worker
