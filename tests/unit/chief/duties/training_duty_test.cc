#include "chief/duties/training_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// A job of one task, which has 2 batches of 10 examples, and of a tensor that each batch changes.
class TrainingDutyTest : public DutyTest {
 protected:
  explicit TrainingDutyTest(uint32_t lanes = 0)
      : DutyTest(CrewOptions{.tasks = 1, .lanes = lanes, .dense_floats = 1}) {
    Run(2);
  }

  // The task is given to the worker.
  v1::Lease Task(const Worker& worker) {
    return *job_.training.work.tasks()->Grant(worker.trainers[0].id, generations_);
  }

  TrainingDuty duty_{job_, orders_};
  Generations generations_{5};
};

class LaneTrainingDutyTest : public TrainingDutyTest {
 protected:
  LaneTrainingDutyTest() : TrainingDutyTest(/*lanes=*/2) {}
};

TEST_F(TrainingDutyTest, TheEndCountsTheExamplesThatThereWereAndNotWholeBatches) {
  Worker& a = AddWorker("a");
  const v1::Lease task = Task(a);
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(task, 2));
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.progress.examples(), 20u);
  EXPECT_FALSE(job_.training.end.begun());

  v1::LeaseReport done = Crew::Done(task);
  done.set_total_examples(15);
  job_.training.work.Report(a.trainer_ids(), done);
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.progress.examples(), 15u);
  EXPECT_TRUE(job_.training.end.begun());
  EXPECT_EQ(job_.reason, "");
}

TEST_F(TrainingDutyTest, TheLastOfMaxStepsEndsTheJob) {
  Worker& a = AddWorker("a");
  const v1::Lease task = Task(a);
  job_.plan.spec.mutable_train()->set_max_steps(2);
  shard(0).report.set_version(2);
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(task, 1));
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.end.begun());
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(task, 2));
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.begun());
}

TEST_F(TrainingDutyTest, BatchesEndTheJobOnlyAsFarAsShardsHaveAppliedThem) {
  Worker& a = AddWorker("a");
  job_.plan.spec.mutable_train()->set_max_steps(2);
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(Task(a), 2));
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.progress.steps(), 2u);
  EXPECT_FALSE(job_.training.end.begun()) << "no shard has told of any";
  shard(0).report.set_version(1);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.end.begun());
  shard(1).report.set_version(2);  // Its next heartbeat.
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.begun());
}

TEST_F(TrainingDutyTest, AProcessThatTakesTheLastShardsPlaceEndsTheJobWithItsFirstHeartbeat) {
  Worker& a = AddWorker("a");
  job_.plan.spec.mutable_train()->set_max_steps(2);
  shard(0).report.set_version(2);
  AddShard(0, /*incarnation=*/200);
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(Task(a), 2));
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.end.begun());
  v1::ShardHeartbeatRequest heartbeat;  // It has loaded what the one before had saved.
  heartbeat.mutable_report()->set_version(2);
  ShardTable::Hear(shard(0), heartbeat, now_);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.begun());
}

TEST_F(TrainingDutyTest, WherePartitionsDropStaleGradientsTheWordOfWorkersCounts) {
  Worker& a = AddWorker("a");
  job_.plan.spec.mutable_train()->set_max_steps(2);
  job_.plan.spec.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  job_.training.work.Report(a.trainer_ids(), Crew::Partly(Task(a), 2));
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.begun());
}

TEST_F(LaneTrainingDutyTest, RoundsThatTheCoordinatorHasClosedCountThoughNoHolderHasToldOfThem) {
  job_.plan.spec.mutable_train()->set_max_steps(4);
  job_.training.barrier.Seek(job_.placement.views.coordinator(), job_.options.call_deadline,
                             job_.calls);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.end.begun());
  v1::HoldRoundsReply held;
  held.mutable_last()->set_round(4);
  job_.training.barrier.OnHeld(held, job_.placement.Owners(), job_.options.call_deadline,
                               job_.calls);
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.progress.steps(), 4u);
  EXPECT_TRUE(job_.training.end.begun());
}

TEST_F(TrainingDutyTest, AStopGivesItsReasonAlsoWhereAllHasJustBeenTrained) {
  Worker& a = AddWorker("a");
  job_.training.work.Report(a.trainer_ids(), Crew::Done(Task(a)));
  job_.stop = "stopped: enough";
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.begun());
  EXPECT_EQ(job_.reason, "stopped: enough");
}

TEST_F(TrainingDutyTest, TheCurveIsDrawnNowAndThenWhileTheJobRuns) {
  job_.training.progress.Start(now_);
  job_.training.progress.AddLoss(/*examples=*/100, /*loss_sum=*/50);
  duty_.DrawCurve(now_ + absl::Hours(1));
  const std::vector<AppendCurve> points = Taken<AppendCurve>();
  ASSERT_THAT(points, testing::SizeIs(1));
  EXPECT_EQ(points[0].loss, 0.5);
  duty_.DrawCurve(now_ + absl::Hours(1));
  EXPECT_THAT(Taken<AppendCurve>(), testing::IsEmpty()) << "a moment later there is nothing new";
  job_.state = v1::JOB_STATE_RESTORING;
  duty_.DrawCurve(now_ + absl::Hours(2));
  EXPECT_THAT(Taken<AppendCurve>(), testing::IsEmpty());
}

// As at the beginning of a job, and of another chief that goes on with one.
TEST_F(TrainingDutyTest, TheCurveBeginsWithTheFirstLossWhichMayBe0) {
  job_.training.progress.Restore(/*examples=*/100, /*steps=*/10, now_);
  duty_.DrawCurve(now_ + absl::Hours(1));
  EXPECT_THAT(Taken<AppendCurve>(), testing::IsEmpty());
  job_.AddCurvePoint({}, now_);  // As an evaluation does, and the end.
  std::vector<AppendCurve> points = Taken<AppendCurve>();
  ASSERT_THAT(points, testing::SizeIs(1));
  EXPECT_EQ(points[0].loss, std::nullopt);
  job_.training.progress.AddLoss(/*examples=*/10, /*loss_sum=*/0);
  duty_.DrawCurve(now_ + absl::Hours(1));
  points = Taken<AppendCurve>();
  ASSERT_THAT(points, testing::SizeIs(1));
  EXPECT_EQ(points[0].loss, 0);
}

TEST_F(TrainingDutyTest, ALossThatIsWorseThanGuessingIsShownForAsLongAsItIs) {
  job_.training.progress.AddLoss(/*examples=*/100, /*loss_sum=*/200);
  duty_.Advance(now_);
  EXPECT_THAT(Warning("training loss"), testing::HasSubstr("training diverges"));
  job_.training.progress.AddLoss(/*examples=*/5000, /*loss_sum=*/500);
  duty_.Advance(now_);
  EXPECT_EQ(Warning("training loss"), "");
}

}  // namespace
}  // namespace capstan::chief
