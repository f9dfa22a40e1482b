// The chief's machine: early stopping, and the best model as a job's result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ChiefBestModelTest, StopsEarlyWhenTheMetricNoLongerImproves) {
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

TEST(ChiefBestModelTest, TheResultIsTheBestModelAndItsMetricsAreOfItsParameters) {
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

TEST(ChiefBestModelTest, AModelWhoseSaveTakesAnHourAndFailsIsSavedAgain) {
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

TEST(ChiefBestModelTest, ABestModelThatCannotBeSavedAtOnceIsSavedBeforeTrainingGoesOn) {
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

TEST(ChiefBestModelTest, ABestModelThatCannotBeSavedForLongIsGivenUpForTheBestOfThoseThatCan) {
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

TEST(ChiefBestModelTest, MoreEpochsOfAJobThatHasStoppedEarlyGoOnFromItsResult) {
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
  state.clear_reason();
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

TEST(ChiefBestModelTest, WithOtherHeldOutRecordsTheBestBeginsAnewAndOnlyThen) {
  const std::vector<double> losses = {0.1, 0.2, 0.5, 0.4, 0.6};
  for (const bool other : {true, false}) {
    SCOPED_TRACE(other);
    CrewOptions options{
        .tasks = 2, .eval_tasks = 1, .epochs = 50, .uri = "/models", .early_stop = ByLogloss()};
    Crew before(options);
    before.RegisterShards();
    before.RegisterWorker("a");
    while (before.Status().evaluations_size() < 2) WorkWithLosses(before, losses, 1);
    before.Advance(absl::Seconds(2));  // The state is stored.
    ASSERT_EQ(before.machine.state(), v1::JOB_STATE_RUNNING);
    if (other) options.eval_file = "harder.csv";
    Crew crew = Crew::Successor(options, before);
    crew.ShardsHeartbeat();
    crew.RegisterWorker("a");
    WorkWithLosses(crew, losses);
    ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
    EXPECT_THAT(crew.machine.reason(),
                HasSubstr(other ? "best 0.4 in evaluation 4" : "best 0.1 in evaluation 1"));
    const v1::GetStatusReply status = crew.Status();
    EXPECT_EQ(status.evaluations().rbegin()->metrics().at("logloss"), other ? 0.4 : 0.1);
  }
}

TEST(ChiefBestModelTest, AModelThatEndsAsTheBestIsSavedAsTheResult) {
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

TEST(ChiefBestModelTest, AnEvaluationOfOtherParametersIsNotThatOfACheckpoint) {
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

}  // namespace
}  // namespace capstan::chief
