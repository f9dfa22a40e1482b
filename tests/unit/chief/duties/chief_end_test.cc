// The chief's machine: the way to the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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
  EXPECT_FALSE(crew.Status().checkpoint().running());
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
    EXPECT_THAT(crew.Status().losses(), IsEmpty()) << "nothing was lost";
    EXPECT_EQ(crew.Status().examples(), 60u);
    if (lanes > 0) continue;  // Their worker's rounds are those of tests of lanes.
    crew.RegisterWorker("a");
    crew.WorkToTheEnd({"a"});
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
    EXPECT_EQ(crew.Status().examples(), 120u);
    EXPECT_EQ(crew.Status().evaluations_size(), 2);
  }
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

TEST(ChiefEndTest, StopsAfterSoManySteps) {
  Crew crew({.tasks = 50, .max_steps = 20});
  crew.RegisterShards();
  crew.reports[0].set_version(20);
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

TEST(ChiefEndTest, AStoppedJobWithoutWorkersSavesItsModelAndEnds) {
  for (const uint32_t lanes : {0u, 2u}) {
    Crew crew({.tasks = 40, .eval_tasks = 1, .lanes = lanes, .uri = "/models"});
    crew.RegisterShards();
    crew.RegisterWorker("a");
    crew.Heartbeat("a");
    crew.Advance(absl::Seconds(15));  // It is lost.
    crew.machine.StopJob("enough", crew.now);
    crew.Advance(absl::Seconds(9));
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << "it may come back";
    EXPECT_EQ(crew.Status().waiting_for(), "a worker, for the final evaluation");
    crew.Advance(absl::Seconds(2));
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
    EXPECT_THAT(crew.machine.reason(), HasSubstr("no worker has been there"));
    EXPECT_THAT(crew.manifests, SizeIs(1));
    EXPECT_THAT(crew.Status().evaluations(), IsEmpty());
  }
}

TEST(ChiefEndTest, AWorkerThatComesInTimeEvaluatesAStoppedJob) {
  Crew crew({.tasks = 40, .eval_tasks = 1, .uri = "/models"});
  crew.RegisterShards();
  crew.machine.StopJob("enough", crew.now);
  crew.Advance(absl::Seconds(9));
  crew.RegisterWorker("a");
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("a");
  ASSERT_THAT(reply.leases(), SizeIs(1));
  crew.Advance(absl::Seconds(5));
  crew.Heartbeat("a", {Crew::Done(reply.leases(0))});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.machine.reason(), "stopped: enough");
  EXPECT_THAT(crew.Status().evaluations(), SizeIs(1));
}

TEST(ChiefEndTest, TheNextChiefEndsAStoppedJobWithoutWorkersToo) {
  const CrewOptions options{.tasks = 40, .eval_tasks = 1, .uri = "/models"};
  Crew before(options);
  before.RegisterShards();
  before.machine.StopJob("enough", before.now);
  before.Advance(absl::Seconds(5));
  Crew crew = Crew::Successor(options, before);
  crew.Advance(absl::Seconds(25));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefEndTest, AShardThatComesAnewAfterTheEndServesTheModelAgain) {
  Crew crew({.tasks = 3, .uri = "/models"});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.WorkToTheEnd({"a"});
  ASSERT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  crew.Advance(absl::Seconds(10));
  const uint64_t timeline = crew.Status().timeline();
  const size_t loads = crew.loads.size();
  ASSERT_TRUE(crew.RegisterShard(1, /*incarnation=*/777).ok());
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.Status().shards(1).state(), "restoring");
  crew.Advance(absl::Seconds(4));
  ASSERT_THAT(crew.loads, SizeIs(loads + 2));
  EXPECT_EQ(crew.loads.back().uri(), crew.Status().model_uri());
  EXPECT_GT(crew.Status().timeline(), timeline);
  EXPECT_EQ(crew.Status().shards(1).state(), "serving");
  EXPECT_EQ(crew.states.back().view().timeline(), crew.views.back().timeline());
  EXPECT_EQ(crew.views.back().state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew.Status().losses(), IsEmpty()) << "nothing is trained again";
}

}  // namespace
}  // namespace capstan::chief
