// The chief's machine: evaluation and the way to the end.
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

// Positions of the first call of each of these names.
std::vector<std::ptrdiff_t> Positions(const Crew& crew, const std::vector<std::string>& names) {
  std::vector<std::ptrdiff_t> positions;
  for (const std::string& name : names) {
    positions.push_back(std::find(crew.order.begin(), crew.order.end(), name) - crew.order.begin());
  }
  return positions;
}

TEST(ChiefEndTest, FlushesEvaluatesSavesAndOnlyThenCompletes) {
  Crew crew({.tasks = 3, .eval_tasks = 2, .uri = "file:///models/"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.answered["Flush"], 2);
  EXPECT_EQ(crew.answered["Save"], 2);
  const std::vector<std::ptrdiff_t> positions = Positions(crew, {"Flush", "Save"});
  EXPECT_LT(positions[0], positions[1]);
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_THAT(crew.manifests[0].manifest.files(), SizeIs(2));
  EXPECT_EQ(crew.manifests[0].uri, "file:///models/test/checkpoints/000000000006-00010001ffee");
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests[0].uri);
  EXPECT_EQ(crew.Status().progress(), 1);
  EXPECT_EQ(crew.Status().workers(0).state(), "parked");
  ASSERT_THAT(crew.Status().evaluations(), SizeIs(1));
  EXPECT_EQ(crew.Status().evaluations(0).examples(), 60u);
  EXPECT_THAT(crew.Heartbeat("a").leases(), IsEmpty());
}

TEST(ChiefEndTest, AJobThatHadEndedGoesOnForAnotherEpochFromItsLastCheckpoint) {
  for (const uint32_t lanes : {0u, 2u}) {
    CrewOptions options{.tasks = 3, .eval_tasks = 1, .lanes = lanes, .uri = "/models"};
    Crew before(options);
    before.RegisterShards();
    before.RegisterWorker("a");
    before.WorkToTheEnd({"a"});
    ASSERT_EQ(before.machine.state(), v1::JOB_STATE_COMPLETED);
    // As ClaimJob opens it again.
    v1::ChiefState& state = before.states.back();
    state.set_state(v1::JOB_STATE_RESTORING);
    state.mutable_evaluations(0)->set_final(false);
    options.epochs = 2;
    Crew crew = Crew::Successor(options, before);
    crew.RegisterShards();
    ASSERT_FALSE(crew.loads.empty());
    for (const v1::LaneCursor& lane : crew.loads.back().coordinator().lanes()) {
      EXPECT_FALSE(lane.ended());
    }
    EXPECT_EQ(crew.Status().resumed_from(), before.manifests.back().uri);
    ASSERT_THAT(crew.Status().losses(), SizeIs(1));
    EXPECT_EQ(crew.Status().losses(0).examples(), 0u);
    EXPECT_EQ(crew.Status().examples(), 60u);
    if (lanes > 0) continue;  // Their worker's rounds are those of tests of lanes.
    crew.RegisterWorker("a");
    crew.WorkToTheEnd({"a"});
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
    EXPECT_EQ(crew.Status().examples(), 120u);
    EXPECT_EQ(crew.Status().evaluations_size(), 2);
  }
}

TEST(ChiefEndTest, SaysThatTheModelIsWorseThanNoneUntilItIsBetter) {
  Crew crew({.tasks = 3});
  crew.machine.NoteWarning("held out", "the model is worse than none");
  crew.machine.NoteWarning("held out", "the model is still worse than none");
  EXPECT_THAT(crew.Status().warnings(), ElementsAre("the model is still worse than none"));
  crew.machine.NoteWarning("held out", "");
  EXPECT_THAT(crew.Status().warnings(), IsEmpty());
}

TEST(ChiefEndTest, NobodyIsToldOfTheEndBeforeItIsStored) {
  Crew crew({.tasks = 1, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.save_status = absl::AbortedError("disk is full");
  crew.WorkToTheEnd({"a"});
  crew.save_status = absl::OkStatus();
  crew.hold_states = true;
  crew.Advance(absl::Seconds(60));
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_EQ(crew.Status().state(), v1::JOB_STATE_CHECKPOINTING);
  EXPECT_EQ(crew.Status().model_uri(), "");
  EXPECT_EQ(crew.Heartbeat("a").state(), v1::JOB_STATE_CHECKPOINTING);
  EXPECT_EQ(crew.views.back().state(), v1::JOB_STATE_CHECKPOINTING);
  crew.hold_states = false;
  crew.machine.OnStateStored(absl::OkStatus(), crew.now);
  crew.AnswerCalls();
  EXPECT_EQ(crew.states.back().state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.views.back().state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests[0].uri);
}

TEST(ChiefEndTest, CommitsTheLastRoundBeforeItSaves) {
  Crew crew({.tasks = 4, .lanes = 2, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew.order,
              ElementsAre("Hold", "Commit 4", "Commit 4", "Flush", "Flush", "Save", "Save"));
}

TEST(ChiefEndTest, SavesTheModelAsSoonAsTheStoreIsBack) {
  Crew crew({.tasks = 1, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  crew.save_status = absl::AbortedError("disk is full");
  crew.Heartbeat("a", {Crew::Done(lease)});
  crew.Advance(absl::Minutes(5));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_CHECKPOINTING);
  EXPECT_THAT(crew.Status().checkpoint().last_error(), HasSubstr("disk is full"));
  crew.save_status = absl::OkStatus();
  crew.Advance(absl::Minutes(1));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  ASSERT_THAT(crew.manifests, SizeIs(1));
}

TEST(ChiefEndTest, FailsWhenTheModelCannotBeSavedForTooLong) {
  Crew crew({.tasks = 1, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  crew.save_status = absl::AbortedError("disk is full");
  crew.Heartbeat("a", {Crew::Done(lease)});
  crew.Advance(absl::Minutes(11));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("disk is full"));
}

TEST(ChiefEndTest, EvaluatesAfterEveryEpochAndFinally) {
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

TEST(ChiefEndTest, EvaluatesEverySoManyExamples) {
  Crew crew({.tasks = 10, .eval_tasks = 1, .evaluate_every = 60});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  const v1::GetStatusReply status = crew.Status();
  ASSERT_GE(status.evaluations_size(), 3);
  EXPECT_GE(status.evaluations(0).examples(), 60u);
  EXPECT_LT(status.evaluations(0).examples(), 120u);
}

TEST(ChiefEndTest, StopsEarlyWhenTheMetricNoLongerImproves) {
  v1::EarlyStop early_stop;
  early_stop.set_metric("auc");
  early_stop.set_patience(2);
  Crew crew({.tasks = 2, .eval_tasks = 1, .epochs = 50, .early_stop = early_stop});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("early stop: auc"));
  EXPECT_LT(crew.Status().examples(), 50 * 40u);
}

// Works until the job is over; evaluation n has the loss losses[n - 1], those that follow the last.
void WorkWithLosses(Crew& crew, const std::vector<double>& losses, int rounds = 500) {
  for (int i = 0; i < rounds && crew.machine.state() != v1::JOB_STATE_COMPLETED; ++i) {
    std::vector<v1::LeaseReport> reports;
    const v1::WorkerHeartbeatReply given = crew.Heartbeat("a");
    for (const v1::Lease& lease : given.leases()) {
      reports.push_back(Crew::Done(lease));
      if (lease.kind() != v1::LEASE_KIND_EVALUATION) continue;
      const double loss = losses[std::min<size_t>(lease.evaluation(), losses.size()) - 1];
      reports.back().mutable_evaluation()->set_loss_sum(2 * loss);
    }
    crew.Heartbeat("a", reports);
    crew.Advance(absl::Milliseconds(200));
  }
}

TEST(ChiefEndTest, TheResultIsTheBestModelAndItsMetricsAreOfItsParameters) {
  v1::EarlyStop early_stop;
  early_stop.set_metric("logloss");
  early_stop.set_patience(2);
  for (const uint32_t lanes : {0, 2}) {
    SCOPED_TRACE(lanes);
    Crew crew({.tasks = 2,
               .eval_tasks = 1,
               .epochs = 50,
               .lanes = lanes,
               .uri = "/models",
               .early_stop = early_stop});
    crew.RegisterShards();
    crew.RegisterWorker("a");
    WorkWithLosses(crew, {0.5, 0.3, 0.6});
    ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
    EXPECT_THAT(crew.machine.reason(), HasSubstr("early stop: logloss"));
    ASSERT_THAT(crew.manifests, SizeIs(2)) << "one for each improvement";
    EXPECT_EQ(crew.manifests[0].manifest.metrics().at("logloss"), 0.5);
    EXPECT_EQ(crew.manifests[1].manifest.metrics().at("logloss"), 0.3);
    EXPECT_EQ(crew.Status().model_uri(), crew.manifests[1].uri);
    const v1::GetStatusReply status = crew.Status();
    const v1::Evaluation& last = *status.evaluations().rbegin();
    EXPECT_TRUE(last.final());
    EXPECT_EQ(last.metrics().at("logloss"), 0.3);
    EXPECT_EQ(last.step(), crew.manifests[1].manifest.step());
  }
}

v1::EarlyStop ByLogloss() {
  v1::EarlyStop early_stop;
  early_stop.set_metric("logloss");
  early_stop.set_patience(2);
  return early_stop;
}

TEST(ChiefEndTest, AModelWhoseSaveTakesAnHourAndFailsIsSavedAgain) {
  Crew crew({.tasks = 1, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::Lease lease = crew.Heartbeat("a").leases(0);
  crew.saves_until_done = 2 * 60 * 60;
  crew.partitions_saved_each = 1;
  crew.Heartbeat("a", {Crew::Done(lease)});
  crew.Advance(absl::Minutes(50));
  crew.save_status = absl::AbortedError("503 Slow Down");
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.Status().checkpoint().failures(), 1u);
  crew.save_status = absl::OkStatus();
  crew.Advance(absl::Minutes(65));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefEndTest, ABestModelThatCannotBeSavedAtOnceIsSavedBeforeTrainingGoesOn) {
  Crew crew(
      {.tasks = 2, .eval_tasks = 1, .epochs = 50, .uri = "/models", .early_stop = ByLogloss()});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.save_status = absl::AbortedError("disk is full");
  WorkWithLosses(crew, {0.3, 0.5}, /*rounds=*/50);
  EXPECT_EQ(crew.Status().evaluations_size(), 1) << "training stands still";
  EXPECT_EQ(crew.Status().examples(), 40u);
  crew.save_status = absl::OkStatus();
  WorkWithLosses(crew, {0.3, 0.5});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  ASSERT_FALSE(crew.manifests.empty());
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests[0].uri);
  EXPECT_EQ(crew.manifests[0].manifest.metrics().at("logloss"), 0.3);
}

TEST(ChiefEndTest, ABestModelThatCannotBeSavedForLongIsGivenUpForTheBestOfThoseThatCan) {
  Crew crew(
      {.tasks = 2, .eval_tasks = 1, .epochs = 50, .uri = "/models", .early_stop = ByLogloss()});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.save_status = absl::AbortedError("disk is full");
  WorkWithLosses(crew, {0.3}, /*rounds=*/20);
  crew.Advance(absl::Minutes(11));
  ASSERT_THAT(crew.Status().warnings(), SizeIs(1));
  EXPECT_THAT(crew.Status().warnings(0), HasSubstr("the best model so far, of 40 examples, could"));
  EXPECT_THAT(crew.Status().warnings(0), HasSubstr("disk is full"));
  crew.save_status = absl::OkStatus();
  crew.RegisterWorker("a", 99);
  WorkWithLosses(crew, {0.3, 0.4, 0.5});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  ASSERT_FALSE(crew.manifests.empty());
  EXPECT_EQ(crew.manifests[0].manifest.metrics().at("logloss"), 0.4);
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests[0].uri);
  EXPECT_THAT(crew.Status().warnings(), IsEmpty()) << "a model that is the best is saved";
}

TEST(ChiefEndTest, MoreEpochsOfAJobThatHasStoppedEarlyGoOnFromItsResult) {
  CrewOptions options{
      .tasks = 2, .eval_tasks = 1, .epochs = 50, .uri = "/models", .early_stop = ByLogloss()};
  Crew before(options);
  before.RegisterShards();
  before.RegisterWorker("a");
  while (before.Status().evaluations_size() < 2) WorkWithLosses(before, {0.3, 0.5}, 1);
  before.TakeCheckpoint();
  WorkWithLosses(before, {0.3, 0.5});
  ASSERT_EQ(before.machine.state(), v1::JOB_STATE_COMPLETED);
  ASSERT_THAT(before.manifests, SizeIs(2)) << "the best, and a later one";
  ASSERT_EQ(before.Status().model_uri(), before.manifests[0].uri);
  // As ClaimJob opens it again.
  v1::ChiefState& state = before.states.back();
  state.set_state(v1::JOB_STATE_RESTORING);
  state.set_opened_from(before.manifests[0].manifest.id());
  state.set_opened_after(state.view().timeline());
  options.epochs = 60;
  Crew crew = Crew::Successor(options, before);
  crew.RegisterShards();
  EXPECT_EQ(crew.Status().resumed_from(), before.manifests[0].uri);
  EXPECT_EQ(crew.Status().examples(), 40u);
  EXPECT_EQ(crew.states.back().opened_from(), before.manifests[0].manifest.id())
      << "whoever comes next goes on from there, too";
  crew.RegisterWorker("a");
  WorkWithLosses(crew, {0.3, 0.5, 0.5, 0.5, 0.5, 0.2, 0.6});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.manifests.back().manifest.metrics().at("logloss"), 0.2);
}

TEST(ChiefEndTest, AModelThatEndsAsTheBestIsSavedAsTheResult) {
  v1::EarlyStop early_stop;
  early_stop.set_metric("logloss");
  early_stop.set_patience(2);
  Crew crew({.tasks = 2, .eval_tasks = 1, .epochs = 3, .uri = "/models", .early_stop = early_stop});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  WorkWithLosses(crew, {0.5, 0.4, 0.3});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests.back().uri);
  EXPECT_EQ(crew.manifests.back().manifest.metrics().at("logloss"), 0.3);
}

TEST(ChiefEndTest, AnEvaluationOfOtherParametersIsNotThatOfACheckpoint) {
  Crew crew({.tasks = 4, .eval_tasks = 1, .epochs = 2, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  for (int i = 0; i < 50 && crew.Status().evaluations().empty(); ++i) {
    std::vector<v1::LeaseReport> reports;
    const v1::WorkerHeartbeatReply given = crew.Heartbeat("a");
    for (const v1::Lease& lease : given.leases()) reports.push_back(Crew::Done(lease));
    crew.Heartbeat("a", reports);
  }
  ASSERT_FALSE(crew.Status().evaluations().empty());
  crew.TakeCheckpoint();
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_TRUE(crew.manifests[0].manifest.metrics().empty()) << "it was live";
}

TEST(ChiefEndTest, StopsAfterSoManySteps) {
  Crew crew({.tasks = 50, .max_steps = 20});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_GE(crew.Status().global_step(), 20u);
  EXPECT_LE(crew.Status().global_step(), 24u);
}

TEST(ChiefEndTest, AStoppedJobWaitsUntilWorkersHaveHeardOfIt) {
  Crew crew({.tasks = 4, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  const v1::WorkerHeartbeatReply granted = crew.Heartbeat("a");
  crew.machine.StopJob("enough", crew.now);
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.answered["Flush"], 0) << "a push may still be under way";
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : granted.leases()) reports.push_back(Crew::Partly(lease, 1));
  const v1::WorkerHeartbeatReply told = crew.Heartbeat("a", reports);
  EXPECT_THAT(told.revoked(), SizeIs(granted.leases_size()));
  EXPECT_EQ(crew.answered["Flush"], 0);
  crew.Heartbeat("a");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.machine.reason(), "stopped: enough");
  EXPECT_THAT(crew.manifests, SizeIs(1));
}

TEST(ChiefEndTest, AStoppedSynchronousJobFinishesItsRoundFirst) {
  Crew crew({.tasks = 40, .lanes = 2});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.Heartbeat("a");
  crew.hold_calls = true;
  crew.machine.StopJob("", crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.held, SizeIs(1));
  // The open round needs every lane: also those whose worker dies now.
  crew.RegisterWorker("a", 999);
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  EXPECT_THAT(reply.leases(), SizeIs(2));
  crew.hold_calls = false;
  crew.round = 3;
  crew.Answer(crew.held[0]);
  crew.AnswerCalls();
  EXPECT_THAT(crew.order, ElementsAre("Hold", "Commit 3", "Commit 3"));
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : reply.leases()) reports.push_back(Crew::Partly(lease, 1));
  EXPECT_THAT(crew.Heartbeat("a", reports).revoked(), SizeIs(2));
  crew.Heartbeat("a");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefEndTest, ADyingWorkerDoesNotHoldUpAnEvaluation) {
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

TEST(ChiefEndTest, AFinalEvaluationWhoseDataCannotBeReadLosesNoModel) {
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

TEST(ChiefEndTest, AnEvaluationThatFailsOnTheWayIsGivenUpAndTheNextOneIsMade) {
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

TEST(ChiefEndTest, DrawsACurveOfLossRateAndEvaluations) {
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
