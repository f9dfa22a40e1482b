#include "chief/duties/recovery_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class RecoveryDutyTest : public DutyTest {
 protected:
  explicit RecoveryDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {}

  // What the checkpoint says of a job that has trained so many examples.
  v1::Manifest ManifestOf(uint64_t examples) const {
    v1::Manifest manifest;
    *manifest.mutable_progress() = job_.training.ProgressOfNow();
    manifest.mutable_progress()->set_examples(examples);
    return manifest;
  }
  // What was found where the checkpoint that is returned to now should be.
  void Read(absl::StatusOr<v1::Manifest> manifest) {
    duty_.OnManifestRead(job_.recovery.restoration.source().uri, std::move(manifest), now_);
  }
  // The folders whose manifests are to be read, since the last call.
  std::vector<std::string> Reads() {
    std::vector<std::string> uris;
    for (const ReadManifest& read : Taken<ReadManifest>()) uris.push_back(read.uri);
    return uris;
  }
  void AllLoad() {
    for (uint32_t index : job_.placement.Owners())
      job_.recovery.restoration.OnLoaded(index, v1::LoadPartitionsReply());
  }
  // A job that has trained so many examples returns to a checkpoint of 60, as a shard is lost.
  void ReturnToSixtyExamples(uint64_t from) {
    Return(from, "shard 1 was started anew");
    LoadSixtyExamples();
  }
  // It does so as it is started again.
  void GoOnFromSixtyExamples(uint64_t from) {
    Return(from, "the job was started again");
    duty_.GoesOn();
    LoadSixtyExamples();
  }
  void Return(uint64_t from, std::string_view cause) {
    if (job_.checkpoints.catalog.newest() == nullptr)
      job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
    job_.training.progress.Restore(from, /*steps=*/10, now_);
    duty_.Return(cause, 1, now_);
  }
  void LoadSixtyExamples() {
    duty_.Advance(now_);
    Read(ManifestOf(/*examples=*/60));
    duty_.Advance(now_);
    AllLoad();
    duty_.Advance(now_);
    EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  }

  RecoveryDuty duty_{job_, orders_};
};

class LargeRecoveryDutyTest : public RecoveryDutyTest {
 protected:
  LargeRecoveryDutyTest() : RecoveryDutyTest(CrewOptions{.tasks = 10, .dense_floats = 1 << 20}) {}
};

TEST_F(RecoveryDutyTest, AJobBeginsOnceItsQuorumIsThereAndHasBeenHeardOfOfLate) {
  AddShard(0);
  duty_.Start(now_);
  now_ += absl::Seconds(11);
  AddShard(1);
  duty_.Start(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty()) << "shard 0 is silent";
  AddShard(0);
  duty_.Start(now_);
  EXPECT_THAT(orders_.orders, testing::ElementsAre("return:  (0)"));
}

TEST_F(RecoveryDutyTest, ABegunJobGoesOnOverThoseWishedOnceTheMoreThatItHadHaveHadTheirTime) {
  job_.recovery.begins_again = true;
  job_.placement.next_map = {0, 1, 2};
  AddShard(0);
  AddShard(1);
  now_ += absl::Seconds(9);
  duty_.Start(now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  now_ += absl::Seconds(1);
  duty_.Start(now_);
  EXPECT_THAT(orders_.orders, testing::ElementsAre("go on: the job was started again"));
  EXPECT_THAT(job_.placement.next_map, testing::ElementsAre(0u, 1u));
}

TEST_F(RecoveryDutyTest, TheFirstWayToTheInitialValuesIsNoLoss) {
  AddShard(0);
  AddShard(1);
  duty_.Return("", 0, now_);
  duty_.Advance(now_);
  EXPECT_THAT(Reads(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.timeline(), job_.recovery.first_timeline);
  EXPECT_THAT(job_.placement.Owners(), testing::ElementsAre(0u, 1u));
  AllLoad();
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_THAT(job_.recovery.losses, testing::IsEmpty());
  EXPECT_EQ(job_.recovery.restores, 0u);
}

TEST_F(RecoveryDutyTest, WhatWasUnderWayIsForgottenByWhoeverReturns) {
  Run(2);
  Generations generations(5);
  (void)job_.training.work.tasks()->Grant(AddWorker("a").trainers[0].id, generations);
  job_.BeginEnd("early stop");
  job_.FlushShards();
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  job_.recovery.partial[0].set_shard(0);
  job_.checkpoints.frozen = true;
  duty_.Return("shard 1 was started anew", 1, now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RESTORING);
  EXPECT_EQ(job_.training.work.totals().doing, 0u);
  EXPECT_FALSE(job_.training.end.begun());
  EXPECT_THAT(Calls(), testing::IsEmpty());
  EXPECT_FALSE(job_.checkpoints.checkpointer.running());
  EXPECT_EQ(job_.checkpoints.checkpointer.failures(), 0u);
  EXPECT_THAT(job_.recovery.partial, testing::IsEmpty());
  EXPECT_FALSE(job_.checkpoints.frozen);
}

TEST_F(RecoveryDutyTest, WhatIsTrainedAgainIsCountedWhenTrainingGoesOn) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  job_.training.progress.Update(/*examples=*/100, /*steps=*/10, now_);
  duty_.Return("shard 1 was started anew", 1, now_);
  duty_.Advance(now_);
  EXPECT_THAT(Reads(), testing::ElementsAre("/models/test/checkpoints/c"));
  Read(ManifestOf(/*examples=*/60));
  duty_.Advance(now_);
  EXPECT_EQ(job_.placement.timeline(), job_.recovery.first_timeline + 1);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RESTORING) << "no shard has loaded";

  AllLoad();
  duty_.Advance(now_ + absl::Seconds(2));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_EQ(job_.training.progress.examples(), 60u);
  EXPECT_EQ(job_.recovery.restores, 1u);
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].examples(), 40u);
  EXPECT_EQ(job_.recovery.losses[0].timeline(), job_.placement.timeline());
  EXPECT_EQ(job_.recovery.losses[0].seconds(), 2);
}

TEST_F(RecoveryDutyTest, AJobThatWasStoppedInOrderAndGoesOnHasNotRecovered) {
  Run(2);
  GoOnFromSixtyExamples(/*from=*/60);
  EXPECT_THAT(job_.recovery.losses, testing::IsEmpty());
  ReturnToSixtyExamples(/*from=*/60);
  EXPECT_THAT(job_.recovery.losses, testing::SizeIs(1)) << "it was running by then";
}

TEST_F(RecoveryDutyTest, AShardThatIsLostUnderALaterChiefIsALossThoughNothingIsTrainedAgain) {
  Run(2);
  job_.recovery.begins_again = true;  // This chief has taken over, and nobody had to return.
  ReturnToSixtyExamples(/*from=*/60);
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].cause(), "shard 1 was started anew");
  EXPECT_EQ(job_.recovery.resumed_from, "");
  const std::vector<LogEvent> log = Taken<LogEvent>();
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.back().message, "training goes on from a checkpoint");
  EXPECT_EQ(log.back().level, LogEvent::Level::kWarning);
}

TEST_F(RecoveryDutyTest, UpdatesOfTablesThatAreUndoneAreALossAlsoOfAJobThatGoesOn) {
  Run(2);
  v1::ShardReport report;
  v1::TableReport& table = *report.add_tables();
  table.set_rows(20);
  table.set_updates(60);
  job_.recovery.lost_updates.Hear(1, Raw(shard(1).incarnation), report);
  GoOnFromSixtyExamples(/*from=*/60);
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].examples(), 0u);
  ASSERT_EQ(job_.recovery.losses[0].tables_size(), 1);
  EXPECT_EQ(job_.recovery.losses[0].tables(0).updates(), 60u);
}

TEST_F(RecoveryDutyTest, AJobThatIsStartedAgainAndTrainsSomethingAgainHasRecovered) {
  Run(2);
  GoOnFromSixtyExamples(/*from=*/100);
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].examples(), 40u);
}

TEST_F(RecoveryDutyTest, AJobThatGoesOnTellsTheCheckpointThatItHasGoneOnFrom) {
  Run(2);
  GoOnFromSixtyExamples(/*from=*/60);
  const std::string resumed_from = job_.recovery.resumed_from;
  EXPECT_EQ(resumed_from, "/models/test/checkpoints/c");
  job_.checkpoints.catalog.Add({.id = "d", .timeline = job_.placement.timeline()});
  ReturnToSixtyExamples(/*from=*/60);
  EXPECT_EQ(job_.recovery.resumed_from, resumed_from) << "the loss tells of that return";
}

TEST_F(RecoveryDutyTest, WithOtherDataThanThoseOfTheCheckpointTheJobFails) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  duty_.Return("shard 1 was started anew", 1, now_);
  duty_.Advance(now_);
  v1::Manifest manifest = ManifestOf(/*examples=*/60);
  manifest.mutable_progress()->set_tasks_fingerprint(1);
  Read(manifest);
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.failure_kind, v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(job_.placement.timeline(), job_.recovery.first_timeline);
}

TEST_F(RecoveryDutyTest, ADamagedCheckpointIsForgottenAndTheOneBeforeIsTheLastHope) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "a", .timeline = job_.placement.timeline(), .step = 1});
  job_.checkpoints.catalog.Add({.id = "b", .timeline = job_.placement.timeline(), .step = 2});
  duty_.Return("shard 1 was started anew", 1, now_);
  duty_.Advance(now_);
  Read(absl::DataLossError("checksum"));
  EXPECT_EQ(job_.checkpoints.catalog.Find("b"), nullptr);
  duty_.Advance(now_);
  EXPECT_THAT(Reads(),
              testing::ElementsAre("/models/test/checkpoints/b", "/models/test/checkpoints/a"));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RESTORING);
  Read(absl::NotFoundError("gone"));
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED) << "nobody begins with the initial values unasked";
  EXPECT_THAT(job_.reason, testing::HasSubstr("no checkpoint is left to return to"));
}

TEST_F(RecoveryDutyTest, WhereTheStoreIsAwayTheSameCheckpointIsReadASecondLater) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  duty_.Return("shard 1 was started anew", 1, now_);
  duty_.Advance(now_);
  EXPECT_THAT(Reads(), testing::SizeIs(1));
  Read(absl::UnavailableError("away"));
  duty_.Advance(now_ + absl::Seconds(0.9));
  EXPECT_THAT(Reads(), testing::IsEmpty());
  duty_.Advance(now_ + absl::Seconds(1));
  EXPECT_THAT(Reads(), testing::ElementsAre("/models/test/checkpoints/c"));
}

TEST_F(RecoveryDutyTest, AnAnswerOfAnEarlierWayBackIsNotTakenForThatOfTheOneUnderWay) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "a", .timeline = job_.placement.timeline(), .step = 1});
  job_.checkpoints.catalog.Add({.id = "b", .timeline = job_.placement.timeline(), .step = 2});
  duty_.Return("shard 1 was started anew", 1, now_);
  duty_.Advance(now_);
  duty_.Return("shard 0 was started anew", 0, now_);
  duty_.Advance(now_);
  EXPECT_THAT(Reads(),
              testing::ElementsAre("/models/test/checkpoints/b", "/models/test/checkpoints/b"));
  Read(absl::DataLossError("checksum"));
  duty_.Advance(now_);
  EXPECT_THAT(Reads(), testing::ElementsAre("/models/test/checkpoints/a"));

  duty_.OnManifestRead("/models/test/checkpoints/b", absl::DataLossError("checksum"), now_);
  EXPECT_NE(job_.checkpoints.catalog.Find("a"), nullptr) << "nobody has said that it is damaged";
  EXPECT_EQ(job_.state, v1::JOB_STATE_RESTORING);
  duty_.OnManifestRead("/models/test/checkpoints/b", ManifestOf(/*examples=*/60), now_);
  duty_.Advance(now_);
  EXPECT_EQ(job_.placement.timeline(), job_.recovery.first_timeline) << "that of a has not come";
  Read(ManifestOf(/*examples=*/30));
  duty_.Advance(now_);
  AllLoad();
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.progress.examples(), 30u);
}

TEST_F(RecoveryDutyTest, DamageThatMeetsOneThatReturnsAloneIsGivenUpAndFailsNothing) {
  Run(2);
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  job_.recovery.partial[1].set_shard(1);
  job_.recovery.restoration.Begin(job_.Sources(), now_);
  duty_.Advance(now_);
  Read(absl::DataLossError("checksum"));
  EXPECT_THAT(orders_.orders, testing::ElementsAre("give up partial recovery: checksum"));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
}

TEST_F(RecoveryDutyTest, AnotherMapIsMadeOverThoseThatItWasToBeMadeOver) {
  Run(2);
  duty_.Return("shard 1 was to leave, and has not come back", 1, now_);
  job_.placement.views.ForgetMap();
  job_.placement.next_map = {0};
  duty_.Advance(now_);
  EXPECT_THAT(job_.placement.Owners(), testing::ElementsAre(0u));
  EXPECT_TRUE(job_.recovery.restoration.Awaits(0));
  EXPECT_FALSE(job_.recovery.restoration.Awaits(1));
  EXPECT_THAT(job_.placement.next_map, testing::IsEmpty())
      << "the next one is over the quorum again";
}

TEST_F(LargeRecoveryDutyTest, AJobForWhichTheShardsHaveNoRoomFailsBeforeItBegins) {
  AddShard(0);
  AddShard(1);
  shard(1).memory_bytes = 1 << 20;
  duty_.Return("", 0, now_);
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.failure_kind, v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_THAT(job_.reason, testing::HasSubstr("a shard of 2 has 1.0MiB of memory"));
  EXPECT_FALSE(job_.placement.views.has_map());
}

}  // namespace
}  // namespace capstan::chief
