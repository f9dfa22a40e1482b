#include "chief/job/training.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Ten tasks, evaluated after every 40 examples.
class TrainingTest : public DutyTest {
 protected:
  explicit TrainingTest(uint32_t lanes = 0)
      : DutyTest({.tasks = 10, .eval_tasks = 1, .lanes = lanes, .evaluate_every = 40}) {
    Run(2);
  }

  // The coordinator has held rounds back after round 3, with two batches of lane 1 in it.
  void ReachBarrier() {
    RoundBarrier& barrier = job_.training.barrier;
    barrier.Seek(/*coordinator=*/0, absl::Seconds(1), job_.calls);
    Answer(Held());
    barrier.OnHeld(Held(), {0, 1}, absl::Seconds(1), job_.calls);
    Answer(v1::CommitRoundReply());
    EXPECT_TRUE(barrier.OnCommitted(job_.calls));
  }
  static v1::HoldRoundsReply Held() {
    v1::HoldRoundsReply held;
    held.mutable_last()->set_round(3);
    held.add_lanes()->set_cursor(4);
    held.add_lanes()->set_cursor(2);
    held.mutable_lanes(1)->set_ended(true);
    return held;
  }

 private:
  template <typename Reply>
  void Answer(const Reply& reply) {
    for (const CallShard& call : Calls()) {
      (void)job_.calls.OnReply(call.call, ShardReply(reply), now_);
    }
  }
};

class LaneTrainingTest : public TrainingTest {
 protected:
  LaneTrainingTest() : TrainingTest(/*lanes=*/2) {}
};

TEST_F(TrainingTest, LeasesOfTasksAreTakenBackWhileTrainingRestsAndFromTheEndOn) {
  EXPECT_FALSE(job_.training.LeasesTakenBack());
  job_.training.standstill.step = Standstill::Step::kDrain;
  EXPECT_TRUE(job_.training.LeasesTakenBack());
  job_.training.standstill = {};
  EXPECT_FALSE(job_.training.LeasesTakenBack());
  job_.BeginEnd("max_steps");
  EXPECT_TRUE(job_.training.LeasesTakenBack());
}

TEST_F(LaneTrainingTest, LanesKeepTheirLeasesAtTheEndUntilTheOpenRoundIsClosed) {
  job_.BeginEnd("max_steps");
  EXPECT_FALSE(job_.training.LeasesTakenBack()) << "an open round needs its lanes";
  ReachBarrier();
  EXPECT_TRUE(job_.training.LeasesTakenBack());
}

TEST_F(LaneTrainingTest, ProgressAtABarrierIsThatOfItsRound) {
  ReachBarrier();
  const v1::TaskProgress progress = job_.training.ProgressOfNow();
  EXPECT_EQ(progress.last_closed().round(), 3u);
  ASSERT_EQ(progress.lanes_size(), 2);
  EXPECT_EQ(progress.lanes(0).cursor(), 4u);
  EXPECT_FALSE(progress.lanes(0).ended());
  EXPECT_EQ(progress.lanes(1).cursor(), 2u);
  EXPECT_TRUE(progress.lanes(1).ended());
}

TEST_F(TrainingTest, AnEvaluationIsDueAfterItsExamplesUnlessTheJobEnds) {
  EXPECT_FALSE(job_.training.EvaluationDue());
  job_.training.progress.Update(/*examples=*/40, /*steps=*/4, now_);
  EXPECT_TRUE(job_.training.EvaluationDue());
  job_.BeginEnd("max_steps");
  EXPECT_FALSE(job_.training.EvaluationDue()) << "the last one is the end's";
}

TEST_F(TrainingTest, WhoHeldALeaseThatIsTakenBackIsWaitedFor) {
  Generations generations(5);
  (void)job_.training.work.tasks()->Grant(AddWorker("a").trainers[0].id, generations);
  AddWorker("b");
  job_.training.TakeLeasesBack();
  EXPECT_THAT(job_.training.end.draining, testing::ElementsAre("a"));
  EXPECT_FALSE(job_.Drained(now_));
  job_.training.end.draining.clear();
  EXPECT_TRUE(job_.Drained(now_));
}

}  // namespace
}  // namespace capstan::chief
