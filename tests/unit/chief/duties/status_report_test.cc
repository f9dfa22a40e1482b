#include "chief/duties/status_report.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class StatusReportTest : public DutyTest {
 protected:
  explicit StatusReportTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {}

  v1::GetStatusReply Status() const { return StatusOf(job_, now_); }
  // By name: "active", "stuck: train.csv for 61 s".
  std::map<std::string, std::string> Workers() const {
    std::map<std::string, std::string> states;
    const v1::GetStatusReply status = Status();
    for (const v1::WorkerStatus& worker : status.workers()) {
      states[worker.name()] =
          worker.stuck().empty() ? worker.state() : worker.state() + ": " + worker.stuck();
    }
    return states;
  }
};

class StepsStatusReportTest : public StatusReportTest {
 protected:
  explicit StepsStatusReportTest(uint32_t lanes = 0)
      : StatusReportTest(CrewOptions{.tasks = 10, .lanes = lanes, .max_steps = 5}) {}
};

class LaneStepsStatusReportTest : public StepsStatusReportTest {
 protected:
  LaneStepsStatusReportTest() : StepsStatusReportTest(/*lanes=*/2) {}
};

// 617 tasks have 12340 examples, which is estimated.
class EstimateStatusReportTest : public StatusReportTest {
 protected:
  EstimateStatusReportTest() : StatusReportTest(CrewOptions{.tasks = 617, .text = true}) {}
};

TEST_F(StatusReportTest, TheEndIsToldWhenItIsStored) {
  JobContext job({.term = 6, .seal_key = "the key", .shards = 2}, PlanOf(TenTasks()),
                 {.state = v1::ChiefState()}, now_);
  job.state = v1::JOB_STATE_COMPLETED;
  job.model_uri = "/models/test/checkpoints/c";
  job.completion = job.writer.Require();
  EXPECT_EQ(StatusOf(job, now_).state(), v1::JOB_STATE_CHECKPOINTING);
  EXPECT_EQ(StatusOf(job, now_).model_uri(), "");
  ASSERT_TRUE(job.writer.TakeDue(now_));
  job.writer.OnStored(absl::OkStatus(), now_);
  EXPECT_EQ(StatusOf(job, now_).state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(StatusOf(job, now_).model_uri(), "/models/test/checkpoints/c");
}

TEST_F(StatusReportTest, EachShardIsShownByWhatItDoes) {
  Run(3);
  job_.recovery.restoration.Begin({RecoverySource()}, now_);  // The initial values.
  job_.recovery.restoration.BeginLoading({1});
  shard(2).draining = true;
  AddShard(3);
  AddShard(4);
  shard(4).gone = true;
  const v1::GetStatusReply status = Status();
  std::vector<std::string> states;
  for (const v1::ShardStatus& shard : status.shards()) states.push_back(shard.state());
  EXPECT_THAT(states, testing::ElementsAre("serving", "restoring", "draining", "joining", "lost"));
}

TEST_F(StatusReportTest, OfAShardThatIsLostNothingIsShownThatItDidBefore) {
  Run(2);
  for (uint32_t index : {0, 1}) {
    shard(index).pushes_per_second = 30;
    shard(index).cpu_share = 0.5;
  }
  shard(1).gone = true;
  const v1::GetStatusReply status = Status();
  ASSERT_THAT(status.shards(), testing::SizeIs(2));
  EXPECT_EQ(status.shards(0).pushes_per_second(), 30);
  EXPECT_EQ(status.shards(1).pushes_per_second(), 0);
  EXPECT_EQ(status.shards(1).cpu_share(), 0);
  EXPECT_EQ(status.shards(1).partitions(), 4u) << "they wait for it";
}

TEST_F(StatusReportTest, EachWorkerIsShownByWhatItDoesAndWaitsFor) {
  Run(2);
  (void)AddWorker("a");
  AddWorker("b").trainers[0].training = true;
  Worker& c = AddWorker("c");
  c.stuck = true;
  c.report.set_stalled_on("train.csv");
  c.report.set_stalled_seconds(61.7);
  AddWorker("d").draining = true;
  EXPECT_THAT(Workers(),
              testing::ElementsAre(testing::Pair("a", "idle"), testing::Pair("b", "active"),
                                   testing::Pair("c", "stuck: train.csv for 61 s"),
                                   testing::Pair("d", "draining")));
  job_.Fail(v1::FAILURE_KIND_ERROR, "no room");
  EXPECT_THAT(Workers(), testing::Each(testing::Pair(testing::_, "parked")));
}

TEST_F(StatusReportTest, AWorkerThatHasFallenSilentIsShownAsLostUntilItComesBack) {
  (void)AddWorker("a");
  now_ += absl::Seconds(11);
  (void)job_.training.workers.TakeSilent(now_);
  EXPECT_THAT(Workers(), testing::ElementsAre(testing::Pair("a", "lost")));
  (void)AddWorker("a");
  EXPECT_THAT(Workers(), testing::ElementsAre(testing::Pair("a", "idle")));
}

TEST_F(StatusReportTest, OfAWorkerWhoseHeartbeatsDoNotComeItsLastRateIsNotShown) {
  AddWorker("a").report.set_examples_per_second(408'000);
  now_ += absl::Seconds(3);
  EXPECT_EQ(Status().workers(0).state(), "idle");
  EXPECT_EQ(Status().workers(0).examples_per_second(), 408'000);
  now_ += absl::Seconds(1);
  EXPECT_EQ(Status().workers(0).state(), "silent");
  EXPECT_EQ(Status().workers(0).examples_per_second(), 0);
  EXPECT_EQ(Status().workers(0).silent_seconds(), 4);
}

TEST_F(StatusReportTest, WhoHasJustJoinedLagsBehindTheFastestFromWhereItBegan) {
  Trainer& fastest = AddWorker("a").trainers[0];
  fastest.training = true;
  fastest.clock = 10;
  Trainer& joined = AddWorker("b").trainers[0];
  joined.training = true;
  joined.start_clock = 6;
  const v1::GetStatusReply status = Status();
  EXPECT_EQ(status.workers(0).lag(), 0u);
  EXPECT_EQ(status.workers(1).lag(), 4u);
}

TEST_F(StepsStatusReportTest, ProgressIsMeasuredByTheStepsThatEndTheJob) {
  job_.training.progress.Restore(/*examples=*/25, /*steps=*/2, now_);
  EXPECT_EQ(Status().examples_expected(), 50u);
  EXPECT_EQ(Status().progress(), 0.5);
  EXPECT_EQ(Status().eta_seconds(), -1) << "nothing is known of its speed";
  now_ += absl::Seconds(1);
  job_.training.progress.Update(/*examples=*/30, /*steps=*/3, now_);
  EXPECT_EQ(Status().eta_seconds(), 4);
}

TEST_F(LaneStepsStatusReportTest, AStepOfLanesIsABatchOfEach) {
  EXPECT_EQ(Status().examples_expected(), 100u);
}

TEST_F(StepsStatusReportTest, WhatIsTrainedBeyondWhatWasExpectedIsNoMoreThanAll) {
  job_.training.progress.Update(/*examples=*/60, /*steps=*/5, now_);
  EXPECT_EQ(Status().examples_expected(), 60u);
  EXPECT_EQ(Status().progress(), 1);
}

TEST_F(EstimateStatusReportTest, AnEstimateIsToldInThreeDigitsForAsLongAsTheJobGoesOn) {
  EXPECT_EQ(Status().examples_expected(), 12300u);
  job_.Fail(v1::FAILURE_KIND_ERROR, "no room");
  EXPECT_EQ(Status().examples_expected(), 12340u);
}

TEST_F(StatusReportTest, TheNewestCheckpointIsShownAndWhyThereIsNoNewerOne) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "c",
                                .parent = "b",
                                .timeline = job_.placement.timeline(),
                                .examples = 40,
                                .at = now_ - absl::Seconds(90)});
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  EXPECT_EQ(Status().checkpoint().failed_seconds(), 0) << "none has failed";
  job_.checkpoints.checkpointer.Abandon(absl::UnavailableError("away"), now_ - absl::Seconds(3),
                                        job_.calls);
  const v1::CheckpointStatus checkpoint = Status().checkpoint();
  EXPECT_EQ(checkpoint.uri(), "/models/test/checkpoints/c");
  EXPECT_EQ(checkpoint.examples(), 40u);
  EXPECT_EQ(checkpoint.age_seconds(), 90);
  EXPECT_TRUE(checkpoint.delta());
  EXPECT_FALSE(checkpoint.running());
  EXPECT_EQ(checkpoint.failures(), 1u);
  EXPECT_EQ(checkpoint.failed_seconds(), 3);
  EXPECT_EQ(checkpoint.last_error(), "away");
}

}  // namespace
}  // namespace capstan::chief
