// The chief's machine: evaluations, and what becomes of those that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ChiefEvaluationTest, SaysThatTheModelIsWorseThanNoneUntilItIsBetter) {
  Crew crew({.tasks = 3});
  crew.machine.NoteWarning("held out", "the model is worse than none");
  crew.machine.NoteWarning("held out", "the model is still worse than none");
  EXPECT_THAT(crew.Status().warnings(), ElementsAre("the model is still worse than none"));
  crew.machine.NoteWarning("held out", "");
  EXPECT_THAT(crew.Status().warnings(), IsEmpty());
}

TEST(ChiefEvaluationTest, EvaluatesAfterEveryEpochAndFinally) {
  Crew crew({.tasks = 2, .eval_tasks = 2, .epochs = 3});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  const v1::GetStatusReply status = crew.Status();
  ASSERT_GE(status.evaluations_size(), 2);
  EXPECT_FALSE(status.evaluations(0).at_round_boundary()) << "live";
  EXPECT_FALSE(status.evaluations(0).final());
  EXPECT_TRUE(status.evaluations(status.evaluations_size() - 1).final());
}

TEST(ChiefEvaluationTest, EvaluatesEverySoManyExamples) {
  Crew crew({.tasks = 10, .eval_tasks = 1, .evaluate_every = 60});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  const v1::GetStatusReply status = crew.Status();
  ASSERT_GE(status.evaluations_size(), 3);
  EXPECT_GE(status.evaluations(0).examples(), 60u);
  EXPECT_LT(status.evaluations(0).examples(), 120u);
}

TEST(ChiefEvaluationTest, ADyingWorkerDoesNotHoldUpAnEvaluation) {
  Crew crew({.tasks = 1, .eval_tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("dies");
  crew.Heartbeat("dies", {Crew::Done(crew.Heartbeat("dies").leases(0))});
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("dies");
  ASSERT_THAT(reply.leases(), SizeIs(1));
  ASSERT_EQ(reply.leases(0).kind(), v1::LEASE_KIND_EVALUATION);
  crew.RegisterWorker("lives");
  crew.Advance(absl::Seconds(5));
  crew.Heartbeat("lives");
  crew.Advance(absl::Seconds(6));
  crew.WorkToTheEnd({"lives"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

// A lease on an evaluation that fails, for good or so often.
v1::LeaseReport Unreadable(const v1::Lease& lease, bool bad_data) {
  v1::LeaseReport report = Crew::Done(lease);
  report.set_finished(false);
  report.clear_evaluation();
  report.set_error("test.csv:7: 3 columns, expected 4");
  report.set_bad_data(bad_data);
  return report;
}

TEST(ChiefEvaluationTest, AFinalEvaluationWhoseDataCannotBeReadLosesNoModel) {
  Crew crew({.tasks = 1, .eval_tasks = 2, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  std::vector<v1::LeaseReport> reports;
  for (int failed = 0, beat = 0; beat < 100 && failed < 2; ++beat) {
    const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a", reports);
    reports.clear();
    for (const v1::Lease& lease : reply.leases()) {
      const bool of_evaluation = lease.kind() == v1::LEASE_KIND_EVALUATION;
      const bool fails = of_evaluation && lease.task().index() == 0;
      failed += fails ? 1 : 0;
      reports.push_back(fails ? Unreadable(lease, /*bad_data=*/true) : Crew::Done(lease));
    }
    crew.Advance(absl::Milliseconds(100));
  }
  ASSERT_THAT(reports, Not(IsEmpty()));
  crew.Heartbeat("a", reports);
  crew.WorkToTheEnd({"a"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew.manifests, SizeIs(1));
  EXPECT_THAT(crew.machine.reason(), HasSubstr("test.csv:7: 3 columns, expected 4"));
  EXPECT_THAT(crew.machine.reason(), HasSubstr("the model is complete"));
  EXPECT_THAT(crew.Status().evaluations(), IsEmpty());
}

TEST(ChiefEvaluationTest, AnEvaluationThatFailsOnTheWayIsGivenUpAndTheNextOneIsMade) {
  Crew crew({.tasks = 4, .eval_tasks = 1, .epochs = 2, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  int failed = 0;
  for (int beat = 0; beat < 100 && failed < 3; ++beat) {
    std::vector<v1::LeaseReport> reports;
    const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
    for (const v1::Lease& lease : reply.leases()) {
      const bool fails = lease.kind() == v1::LEASE_KIND_EVALUATION;
      failed += fails;
      reports.push_back(fails ? Unreadable(lease, /*bad_data=*/false) : Crew::Done(lease));
    }
    crew.Heartbeat("a", reports);
  }
  ASSERT_EQ(failed, 3) << "a task may fail that often";
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  ASSERT_THAT(crew.Status().warnings(), SizeIs(1));
  EXPECT_THAT(crew.Status().warnings(0), HasSubstr("test.csv:7"));
  crew.WorkToTheEnd({"a"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.machine.reason(), "");
  EXPECT_THAT(crew.Status().warnings(), IsEmpty());
  ASSERT_FALSE(crew.Status().evaluations().empty());
  EXPECT_TRUE(crew.Status().evaluations().rbegin()->final());
}

TEST(ChiefEvaluationTest, DrawsACurveOfLossRateAndEvaluations) {
  Crew crew({.tasks = 10, .eval_tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  ASSERT_FALSE(crew.curve.empty());
  size_t evaluated = 0;
  for (size_t i = 1; i < crew.curve.size(); ++i) {
    EXPECT_GE(crew.curve[i].examples, crew.curve[i - 1].examples);
    if (crew.curve[i].evaluation.number() > 0) ++evaluated;
  }
  EXPECT_EQ(evaluated, 1u);
  EXPECT_EQ(crew.curve.back().examples, 200u);
}

}  // namespace
}  // namespace capstan::chief
