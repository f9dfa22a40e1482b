// The chief's machine: checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CrewOptions Job() { return {.tasks = 200, .uri = "/models", .checkpoint_every = 60, .keep = 2}; }

TEST(ChiefCheckpointsTest, TakesOneEveryIntervalAndKeepsTheNewest) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  for (int minute = 0; minute < 5; ++minute) {
    crew.RegisterWorker("w");
    crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
    crew.Advance(absl::Minutes(1));
  }
  EXPECT_GE(crew.manifests.size(), 4u);
  EXPECT_LE(crew.manifests.size(), 5u);
  ASSERT_THAT(crew.deleted, SizeIs(crew.manifests.size() - 2));
  EXPECT_EQ(crew.deleted[0], crew.manifests[0].manifest.id());
  EXPECT_EQ(crew.Status().checkpoint().uri(), crew.manifests.back().uri);
  EXPECT_EQ(crew.states.back().manifest(), crew.manifests.back().manifest.id());
}

TEST(ChiefCheckpointsTest, AnIntervalInWhichNothingChangesIsLeftOut) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
  crew.Advance(absl::Minutes(3));  // The worker is gone.
  const uint64_t taken = crew.Status().checkpoint().taken();
  ASSERT_GT(taken, 0u);
  crew.Advance(absl::Minutes(5));
  EXPECT_EQ(crew.Status().checkpoint().taken(), taken);
  EXPECT_GE(crew.Status().checkpoint().age_seconds(), 5 * 60);
  EXPECT_LE(crew.Status().checkpoint().complete_seconds(), 61) << "no more would be lost";
  crew.reports[1].set_pushes(1);  // A session has pushed.
  crew.Advance(absl::Minutes(2));
  EXPECT_EQ(crew.Status().checkpoint().taken(), taken + 1);
  crew.TakeCheckpoint();
  EXPECT_EQ(crew.Status().checkpoint().taken(), taken + 2) << "who asks for one gets one";
}

TEST(ChiefCheckpointsTest, TheProgressIsThatOfBeforeTheShardsSave) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = crew.Heartbeat("w");
  crew.hold_calls = true;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.held, SizeIs(2));
  crew.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 0)});
  crew.Advance(absl::Seconds(2));
  EXPECT_THAT(crew.closed, IsEmpty()) << "no stream is forgotten while a checkpoint is taken";
  crew.hold_calls = false;
  for (const CallShard& call : std::exchange(crew.held, {})) crew.Answer(call);
  crew.AnswerCalls();
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_EQ(crew.manifests[0].manifest.progress().examples(), 0u);
  EXPECT_THAT(crew.manifests[0].manifest.progress().open_tasks(), SizeIs(2));
  crew.Advance(absl::Seconds(2));
  EXPECT_THAT(crew.closed, SizeIs(2)) << "and now it is closed on both shards";
  ASSERT_THAT(crew.checkpoint_answers, SizeIs(1));
  EXPECT_EQ(*crew.checkpoint_answers[0].uri, crew.manifests[0].uri);
}

TEST(ChiefCheckpointsTest, WhoAsksWhileOneIsTakenIsAnsweredWithItAndBringsAboutNoOther) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.hold_calls = true;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.held, SizeIs(2)) << "both shards save";
  crew.machine.TakeCheckpoint(2, crew.now);
  crew.machine.TakeCheckpoint(3, crew.now);
  crew.AnswerCalls();
  EXPECT_THAT(crew.held, SizeIs(2)) << "and are not asked for another";
  crew.hold_calls = false;
  for (const CallShard& call : std::exchange(crew.held, {})) crew.Answer(call);
  crew.AnswerCalls();
  crew.Advance(absl::Seconds(5));
  ASSERT_THAT(crew.manifests, SizeIs(1));
  ASSERT_THAT(crew.checkpoint_answers, SizeIs(3));
  for (const AnswerCheckpoint& answer : crew.checkpoint_answers) {
    EXPECT_EQ(*answer.uri, crew.manifests[0].uri);
  }
}

TEST(ChiefCheckpointsTest, AsksShardsThatAreNotDoneAgain) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.saves_until_done = 3;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  EXPECT_THAT(crew.manifests, IsEmpty());
  crew.Advance(absl::Seconds(3));
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_GE(crew.saves.size(), 4u);
  for (const v1::SavePartitionsRequest& save : crew.saves) EXPECT_EQ(save.id(), crew.saves[0].id());
}

TEST(ChiefCheckpointsTest, ASaveOfHoursIsWaitedForWhilePartitionsAreSaved) {
  Crew crew({.tasks = 200, .uri = "/models"});
  crew.RegisterShards();
  crew.saves_until_done = 4 * 60 * 60;  // Answers come twice a second: two hours.
  crew.partitions_saved_each = 1;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.Advance(absl::Minutes(110));
  EXPECT_THAT(crew.manifests, IsEmpty());
  EXPECT_EQ(crew.Status().checkpoint().failures(), 0u);
  crew.Advance(absl::Minutes(20));
  EXPECT_THAT(crew.manifests, SizeIs(1));
}

TEST(ChiefCheckpointsTest, ASaveOfWhichNothingMovesIsGivenUp) {
  Crew crew({.tasks = 200, .uri = "/models"});
  crew.RegisterShards();
  crew.saves_until_done = 1 << 30;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.Advance(absl::Minutes(58));
  EXPECT_EQ(crew.Status().checkpoint().failures(), 0u);
  crew.Advance(absl::Minutes(4));
  EXPECT_EQ(crew.Status().checkpoint().failures(), 1u);
  EXPECT_THAT(crew.Status().checkpoint().last_error(), HasSubstr("nothing has moved"));
}

TEST(ChiefCheckpointsTest, AFailureIsToldAndTheNextIntervalTriesAgain) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.save_status = absl::AbortedError("No space left on device");
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.checkpoint_answers, SizeIs(1));
  EXPECT_THAT(std::string(crew.checkpoint_answers[0].uri.status().message()),
              HasSubstr("No space"));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.Status().checkpoint().failures(), 1u);
  crew.save_status = absl::OkStatus();
  crew.Advance(absl::Minutes(2));
  ASSERT_FALSE(crew.manifests.empty());
  EXPECT_THAT(crew.deleted, testing::Contains(crew.saves[0].id())) << "the half of it is garbage";
}

TEST(ChiefCheckpointsTest, WhatAnAttemptLeavesGoesWhenItIsGivenUp) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.save_status = absl::AbortedError("No space left on device");
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  const std::string first = crew.saves[0].id();
  EXPECT_THAT(crew.deleted, ElementsAre(first));
  crew.Advance(absl::Seconds(5));
  crew.machine.TakeCheckpoint(2, crew.now);
  crew.AnswerCalls();
  const std::string second = crew.saves.back().id();
  EXPECT_THAT(crew.deleted, ElementsAre(first, first, second))
      << "once more, for a shard may have written on";
}

TEST(ChiefCheckpointsTest, WhatIsWaitedForAtTheEndIsToldWithTheReason) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.save_status = absl::AbortedError("No space left on device");
  crew.machine.StopJob("", crew.now);
  for (int i = 0; i < 5; ++i) {
    crew.Heartbeat("w");
    crew.Advance(absl::Seconds(1));
  }
  ASSERT_EQ(crew.Status().state(), v1::JOB_STATE_CHECKPOINTING);
  EXPECT_THAT(crew.Status().waiting_for(), HasSubstr("the model to be saved"));
  EXPECT_THAT(crew.Status().waiting_for(), HasSubstr("No space left on device"));
}

TEST(ChiefCheckpointsTest, DeltasBuildOnTheNewestUpToTheBound) {
  CrewOptions options = Job();
  options.max_deltas = 2;
  options.keep = 10;
  Crew crew(options);
  crew.RegisterShards();
  crew.RegisterWorker("w");
  std::vector<std::string> parents;
  for (int i = 0; i < 5; ++i) {
    crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
    crew.machine.TakeCheckpoint(i, crew.now);
    crew.AnswerCalls();
    ASSERT_THAT(crew.manifests, SizeIs(i + 1));
    parents.push_back(crew.manifests[i].manifest.parent());
  }
  EXPECT_THAT(parents,
              ElementsAre("", crew.manifests[0].manifest.id(), crew.manifests[1].manifest.id(), "",
                          crew.manifests[3].manifest.id()));
}

TEST(ChiefCheckpointsTest, ShardsThatAllLeaveMayDoSoOnceAllTheyHoldIsSaved) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  crew.saves_until_done = 2;
  EXPECT_FALSE(crew.ShardHeartbeat(1, /*draining=*/true).may_leave());
  EXPECT_TRUE(crew.saves.empty()) << "the other one can take its partitions";
  EXPECT_FALSE(crew.ShardHeartbeat(0, /*draining=*/true).may_leave());
  ASSERT_THAT(crew.saves, SizeIs(2));
  for (const v1::SavePartitionsRequest& save : crew.saves) {
    EXPECT_TRUE(save.freeze()) << "all will return to it: what is trained afterwards is in vain";
  }
  crew.now += absl::Seconds(1);
  crew.machine.Tick(crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_TRUE(crew.ShardHeartbeat(1, /*draining=*/true).may_leave());
}

TEST(ChiefCheckpointsTest, ShardsThatLeaveWhileACheckpointIsTakenBringAboutAnother) {
  Crew crew(Job());
  crew.RegisterShards();
  crew.hold_calls = true;
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.held, SizeIs(2));
  crew.hold_calls = false;
  (void)crew.ShardHeartbeat(0, /*draining=*/true);
  (void)crew.ShardHeartbeat(1, /*draining=*/true);
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_NE(crew.saves.back().id(), crew.held[0].request.Get<v1::SavePartitionsRequest>().id());
  EXPECT_TRUE(crew.ShardHeartbeat(0, /*draining=*/true).may_leave());
}

TEST(ChiefCheckpointsTest, WithoutAPlaceForThemThereAreNone) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.machine.TakeCheckpoint(1, crew.now);
  crew.AnswerCalls();
  ASSERT_THAT(crew.checkpoint_answers, SizeIs(1));
  EXPECT_EQ(crew.checkpoint_answers[0].uri.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ChiefCheckpointsTest, TheLastShardLeavesAJobThatIsStoredNowhereWithoutACheckpoint) {
  Crew crew({.shards = 1});
  crew.RegisterShards();
  EXPECT_TRUE(crew.ShardHeartbeat(0, /*draining=*/true).may_leave());
  crew.AnswerCalls();
  EXPECT_THAT(crew.saves, testing::IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
