#include "chief/job/job_context.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// A job with a folder for checkpoints, of which the next is due in a minute.
class JobContextTest : public DutyTest {
 protected:
  JobContextTest()
      : DutyTest({.tasks = 10, .partial = true, .uri = "/models", .checkpoint_every = 60}) {
    Run(2);
    job_.checkpoints.checkpointer.StartClock(now_);
  }
};

TEST_F(JobContextTest, ALeaseIsSealedAsThatOfItsLaneOrElseOfItsTaskInThisTimeline) {
  job_.training.sealer = Sealer("the key");
  SealedLease lease{.trainer = TrainerId{7},
                    .generation = {.term = 1, .count = 2},
                    .stream = StreamId::Task(/*data_epoch=*/1, /*task=*/3)};
  EXPECT_EQ(job_.SealOf(lease),
            job_.training.sealer.OfTask(job_.placement.timeline(), lease.trainer, lease.stream,
                                        lease.generation));
  lease.lane = 5;
  EXPECT_EQ(job_.SealOf(lease), job_.training.sealer.OfLane(job_.placement.timeline(),
                                                            lease.trainer, 5, lease.generation));
}

TEST_F(JobContextTest, ACheckpointIsDueWhenItsTimeHasComeAndWhenSomebodyAsks) {
  EXPECT_FALSE(job_.CheckpointDue(now_));
  EXPECT_TRUE(job_.CheckpointDue(now_ + absl::Minutes(1)));
  job_.checkpoints.askers.push_back(7);
  EXPECT_TRUE(job_.CheckpointDue(now_));
}

TEST_F(JobContextTest, NoCheckpointIsDueWhereTheNewestHoldsAllThereIsUnlessSomebodyAsks) {
  const absl::Time due = now_ + absl::Minutes(1);
  job_.checkpoints.newest = job_.MarkOfNow();
  EXPECT_FALSE(job_.CheckpointDue(due));
  shard(1).report.set_pushes(7);
  EXPECT_TRUE(job_.CheckpointDue(due)) << "a session has pushed";
  job_.checkpoints.newest = job_.MarkOfNow();
  job_.training.progress.Update(/*examples=*/10, /*steps=*/1, now_);
  EXPECT_TRUE(job_.CheckpointDue(due)) << "it was trained";
  job_.checkpoints.newest = job_.MarkOfNow();
  job_.checkpoints.askers.push_back(7);
  EXPECT_TRUE(job_.CheckpointDue(due));
}

TEST_F(JobContextTest, NoCheckpointIsDueWhileAShardIsOnItsWayBackOrTheJobEnds) {
  job_.checkpoints.askers.push_back(7);
  job_.recovery.partial[1].set_shard(1);
  EXPECT_FALSE(job_.CheckpointDue(now_)) << "shard 1 has nothing to save";
  job_.recovery.partial.clear();
  EXPECT_TRUE(job_.CheckpointDue(now_));
  job_.BeginEnd("max_steps");
  EXPECT_FALSE(job_.CheckpointDue(now_)) << "the model is saved in its own time";
}

TEST_F(JobContextTest, ACheckpointThatIsDueWaitsForMovesToBeOver) {
  job_.checkpoints.askers.push_back(7);
  EXPECT_TRUE(job_.CheckpointWanted(now_));
  v1::PartitionMove move;
  move.set_partition(1);
  move.set_to(0);
  job_.placement.views.SetMoves({move});
  Publish();
  EXPECT_TRUE(job_.CheckpointDue(now_));
  EXPECT_FALSE(job_.CheckpointWanted(now_));
}

TEST_F(JobContextTest, AShardThatCannotHandOverWhatItHasMakesACheckpointDueUntilOneHoldsItAll) {
  shard(0).draining = true;
  shard(1).draining = true;
  EXPECT_TRUE(job_.CheckpointDue(now_));
  job_.checkpoints.frozen = true;
  EXPECT_FALSE(job_.CheckpointDue(now_));
}

TEST_F(JobContextTest, OneReturnsToCheckpointsOfThisRunTheNewestLastAndElseToWhatItBeganWith) {
  job_.recovery.from = "/models/yesterday";
  ASSERT_THAT(job_.Sources(), testing::SizeIs(1));
  EXPECT_EQ(job_.Sources()[0].uri, "/models/yesterday");
  EXPECT_TRUE(job_.Sources()[0].parameters_only);

  const uint64_t run = job_.recovery.first_timeline;
  job_.checkpoints.catalog.Add({.id = "of-another-run", .timeline = run - 1});
  job_.checkpoints.catalog.Add({.id = "first", .timeline = run});
  job_.checkpoints.catalog.Add({.id = "second", .timeline = run});
  const std::vector<RecoverySource> sources = job_.Sources();
  ASSERT_THAT(sources, testing::SizeIs(2));
  EXPECT_EQ(sources[0].id, "first");
  EXPECT_EQ(sources[1].id, "second");
  EXPECT_FALSE(sources[1].parameters_only);
}

TEST_F(JobContextTest, AShardReturnsAloneOnlyWhileTheJobTrains) {
  EXPECT_TRUE(job_.MayRecoverPartially());
  job_.BeginEnd("max_steps");
  EXPECT_FALSE(job_.MayRecoverPartially()) << "the model is about to be saved";
}

TEST_F(JobContextTest, AShardDoesNotReturnAloneThatCannotBeToldOfAllThatWasClosed) {
  for (size_t i = 0; i <= CloseLog::kMost; ++i) {
    job_.training.closes.Add(v1::StreamClose(), job_.writer);
  }
  EXPECT_FALSE(job_.MayRecoverPartially());
  job_.training.closes.log().BeginCheckpoint({});
  job_.training.closes.log().OnCheckpointStored();
  EXPECT_TRUE(job_.MayRecoverPartially());
}

TEST_F(JobContextTest, TheFirstFailureIsTheOneThatIsTold) {
  job_.Fail(v1::FAILURE_KIND_BAD_INPUT, "part-3.csv is gone");
  job_.Fail(v1::FAILURE_KIND_ERROR, "and so is everything else");
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.failure_kind, v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(job_.reason, "part-3.csv is gone");
}

TEST_F(JobContextTest, TheNextMapIsOverTheShardsOfTheOneBeforeOrOverThoseWishedWhicheverAreMore) {
  job_.state = v1::JOB_STATE_PENDING;
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u, 1u)) << "there was none";
  job_.placement.next_map = {0};
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u, 1u));
  job_.placement.next_map = {0, 1, 2};
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u, 1u, 2u));
  job_.placement.next_map = {0, 2};
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u, 2u));
  job_.state = v1::JOB_STATE_RESTORING;
  job_.placement.next_map = {0};
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u)) << "it is decided";
}

TEST_F(JobContextTest, TheMoreHaveALeaseToComeFromWhenTheFewerAreThere) {
  job_.state = v1::JOB_STATE_PENDING;
  job_.placement.next_map = {0, 1, 2};
  AddShard(0, /*incarnation=*/200);
  now_ += absl::Seconds(10);
  AddShard(0, /*incarnation=*/200);  // It has been heard of again.
  AddShard(1, /*incarnation=*/201);
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::SizeIs(3)) << "shard 1 has come only now";
  now_ += absl::Seconds(10);
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::ElementsAre(0u, 1u));
  AddShard(2);
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::SizeIs(3)) << "all have come after all";
  now_ += absl::Seconds(1);
  EXPECT_THAT(job_.ShardsOfNextMap(now_), testing::SizeIs(3)) << "the fewer are silent as well";
}

}  // namespace
}  // namespace capstan::chief
