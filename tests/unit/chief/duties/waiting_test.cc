#include "chief/duties/waiting.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class WaitingTest : public DutyTest {
 protected:
  explicit WaitingTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {}

  Worker& AddStuckWorker(const std::string& name, const std::string& file) {
    Worker& worker = AddWorker(name);
    worker.stuck = true;
    worker.report.set_stalled_on(file);
    return worker;
  }
};

class EvaluatedWaitingTest : public WaitingTest {
 protected:
  EvaluatedWaitingTest() : WaitingTest(CrewOptions{.tasks = 10, .eval_tasks = 1}) {}
};

TEST_F(WaitingTest, AJobBeginsWhenTheShardsOfTheFirstMapAreThere) {
  AddShard(0);
  EXPECT_EQ(WaitingFor(job_, now_), "shard 1");
  AddShard(1);
  EXPECT_EQ(WaitingFor(job_, now_), "");
}

TEST_F(WaitingTest, ABegunJobWaitsForTheShardsThatItHadWhereTheyAreMoreThanThoseWished) {
  job_.placement.next_map = {0, 1, 2};
  AddShard(0);
  AddShard(1);
  EXPECT_EQ(WaitingFor(job_, now_), "shard 2");
  job_.state = v1::JOB_STATE_RESTORING;
  job_.placement.next_map = {0};
  EXPECT_EQ(WaitingFor(job_, now_), "") << "nobody but shard 0 is to load";
}

TEST_F(WaitingTest, AShardIsNamedThatHasFallenSilentOrStillLoads) {
  Run(2);
  EXPECT_EQ(WaitingFor(job_, now_), "");
  job_.recovery.restoration.Begin({RecoverySource{}}, now_);
  job_.recovery.restoration.BeginLoading({0, 1});
  now_ += absl::Seconds(11);
  shard(1).heard = now_;
  EXPECT_EQ(WaitingFor(job_, now_), "shard 0; shard 1, which loads its partitions");
}

TEST_F(WaitingTest, WhereNoShardIsThereAllAreWaitedFor) {
  EXPECT_EQ(WaitingFor(job_, now_), "all 2 shards: none of them is there");
  Run(2);
  now_ += absl::Seconds(11);
  EXPECT_EQ(WaitingFor(job_, now_), "all 2 shards: none of them is there");
  shard(1).heard = now_;
  EXPECT_EQ(WaitingFor(job_, now_), "shard 0");
}

TEST_F(WaitingTest, TheCheckpointIsNamedWhoseManifestIsNotThereYet) {
  Run(2);
  job_.recovery.restoration.Begin({RecoverySource{.uri = "/models/test/checkpoints/x"}}, now_);
  EXPECT_EQ(WaitingFor(job_, now_), "the object store, for /models/test/checkpoints/x");
}

TEST_F(WaitingTest, ATimelineThatNobodyHasHeardOfWaitsForTheStore) {
  Run(2);
  job_.placement.views.SetTimeline(job_.recovery.next_timeline++);
  EXPECT_EQ(WaitingFor(job_, now_), "the object store");
  job_.writer.OnStored(absl::UnavailableError("away"), now_);
  EXPECT_EQ(WaitingFor(job_, now_), "the object store, which fails: away");
  Publish();
  EXPECT_EQ(WaitingFor(job_, now_), "");
}

TEST_F(WaitingTest, DataAreNamedWithThoseWhoWaitForThemWhereNobodyCanRead) {
  Run(2);
  AddStuckWorker("a", "s3://data/1.csv");
  AddStuckWorker("b", "s3://data/1.csv");
  Worker& c = AddStuckWorker("c", "s3://data/2.csv");
  EXPECT_EQ(WaitingFor(job_, now_),
            "the data of s3://data/1.csv, which a, b wait for; "
            "the data of s3://data/2.csv, which c waits for");
  c.stuck = false;
  EXPECT_EQ(WaitingFor(job_, now_), "") << "one can work";
}

TEST_F(WaitingTest, TheEndWaitsForTheShardsThatHaveNotSavedTheirPartOfTheModel) {
  Run(2);
  job_.state = v1::JOB_STATE_CHECKPOINTING;
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  v1::SavePartitionsReply saved;
  saved.set_done(true);
  job_.checkpoints.checkpointer.OnSaved(0, saved, now_, job_.calls);
  EXPECT_EQ(WaitingFor(job_, now_), "the model to be saved by shard 1");
  job_.checkpoints.checkpointer.Abandon(absl::UnavailableError("away"), now_, job_.calls);
  EXPECT_EQ(WaitingFor(job_, now_), "the model to be saved, which fails: away");
}

TEST_F(WaitingTest, AnEndThatIsNotStoredWaitsForTheStoreAndNotForShards) {
  JobContext job({.shards = 2}, PlanOf(TenTasks()), {.state = v1::ChiefState()}, now_);
  job.state = v1::JOB_STATE_COMPLETED;
  job.completion = job.writer.Require();
  EXPECT_EQ(WaitingFor(job, now_), "the object store, for the chief's state");
  ASSERT_TRUE(job.writer.TakeDue(now_));
  job.writer.OnStored(absl::OkStatus(), now_);
  EXPECT_EQ(WaitingFor(job, now_), "");
}

TEST_F(EvaluatedWaitingTest, TheFinalEvaluationWaitsForAWorkerThatCanWork) {
  Run(2);
  job_.BeginEnd("");
  EXPECT_EQ(WaitingFor(job_, now_), "");
  job_.training.end.step = EndStep::kEvaluate;
  EXPECT_EQ(WaitingFor(job_, now_), "a worker, for the final evaluation");
  AddWorker("a").draining = true;
  EXPECT_EQ(WaitingFor(job_, now_), "a worker, for the final evaluation");
  AddStuckWorker("b", "test.csv");
  EXPECT_EQ(WaitingFor(job_, now_), "the data of test.csv, which b waits for");
  AddWorker("c");
  EXPECT_EQ(WaitingFor(job_, now_), "");
}

}  // namespace
}  // namespace capstan::chief
