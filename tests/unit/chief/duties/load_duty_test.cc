#include "chief/duties/load_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class LoadDutyTest : public DutyTest {
 protected:
  explicit LoadDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) { Run(2); }

  // The shards are to load the last of these checkpoints, which says this.
  void Load(const std::vector<std::string>& ids, const std::set<uint32_t>& shards,
            const v1::Manifest& manifest = {}) {
    for (const std::string& id : ids) {
      job_.checkpoints.catalog.Add(
          {.id = id, .timeline = job_.placement.timeline(), .step = ++steps_});
    }
    job_.recovery.restoration.Begin(job_.Sources(), now_);
    if (job_.recovery.restoration.TakeRead(now_))
      (void)job_.recovery.restoration.OnManifestRead(manifest, now_);
    job_.recovery.restoration.BeginLoading(shards);
  }
  bool Answer(const CallShard& call, absl::StatusOr<ShardReply> reply) {
    return duty_.OnAnswer(*job_.calls.OnReply(call.call, std::move(reply), now_), now_);
  }
  // The shards that are called now, each with what it is to load.
  std::map<uint32_t, v1::LoadPartitionsRequest> Loads() {
    std::map<uint32_t, v1::LoadPartitionsRequest> loads;
    for (CallShard& call : Calls()) {
      loads[call.shard] = call.request.Get<v1::LoadPartitionsRequest>();
    }
    return loads;
  }

  LoadDuty duty_{job_, orders_};

 private:
  uint64_t steps_ = 0;
};

class LaneLoadDutyTest : public LoadDutyTest {
 protected:
  LaneLoadDutyTest() : LoadDutyTest(Lanes()) {}

  static CrewOptions Lanes() {
    CrewOptions options = TenTasks(/*lanes=*/2);
    options.epochs = 2;
    return options;
  }
  // A checkpoint of a job of so many epochs, whose two lanes have ended.
  static v1::Manifest EndedAfter(uint32_t epochs) {
    v1::Manifest manifest;
    manifest.mutable_job()->mutable_train()->set_epochs(epochs);
    manifest.mutable_progress()->mutable_last_closed()->set_round(10);
    for (int lane = 0; lane < 2; ++lane) {
      manifest.mutable_progress()->add_lanes()->set_cursor(10);
      manifest.mutable_progress()->mutable_lanes(lane)->set_ended(true);
    }
    return manifest;
  }
};

class PartialLoadDutyTest : public LoadDutyTest {
 protected:
  PartialLoadDutyTest() : LoadDutyTest(CrewOptions{.tasks = 10, .partial = true}) {}
};

class ReplicaLoadDutyTest : public LoadDutyTest {
 protected:
  ReplicaLoadDutyTest() : LoadDutyTest(CrewOptions{.tasks = 10, .replicas = 1, .uri = "/models"}) {}
};

TEST_F(LoadDutyTest, AProcessIsNotCalledBeforeAViewIsPublishedThatNamesIt) {
  Load({}, {0, 1});
  AddShard(1, /*incarnation=*/7);
  duty_.Send();
  EXPECT_THAT(Loads(), testing::ElementsAre(testing::Key(0u)));
  Publish();
  duty_.Send();
  EXPECT_THAT(Loads(), testing::ElementsAre(testing::Key(1u)));
}

TEST_F(LoadDutyTest, NobodyLoadsInATimelineThatIsNotPublished) {
  job_.placement.views.SetTimeline(job_.recovery.next_timeline++);
  Load({}, {0, 1});
  duty_.Send();
  EXPECT_FALSE(job_.calls.Pending<v1::LoadPartitionsRequest>());
  Publish();
  duty_.Send();
  EXPECT_THAT(Loads(), testing::SizeIs(2));
}

TEST_F(LoadDutyTest, AShardThatIsNotDoneIsAskedAgainUntilItIs) {
  Load({"c"}, {0});
  duty_.Send();
  std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  v1::LoadPartitionsReply reply;
  EXPECT_FALSE(Answer(calls[0], ShardReply(reply)));
  EXPECT_THAT(Calls(), testing::IsEmpty());
  now_ += absl::Milliseconds(50);
  calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  reply.set_done(true);
  EXPECT_TRUE(Answer(calls[0], ShardReply(reply)));
  EXPECT_TRUE(job_.recovery.restoration.loaded());
}

TEST_F(ReplicaLoadDutyTest, WhoHasLoadedMayHaveALeaseForWhichItHasAskedBefore) {
  Load({"c"}, {0});
  duty_.Send();
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  const ShardLease& lease = job_.placement.hearing.lease();
  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  EXPECT_TRUE(lease.IsOver(100, now_));
  EXPECT_TRUE(Answer(calls[0], ShardReply(reply)));
  EXPECT_FALSE(lease.IsOver(100, now_ + absl::Seconds(10)));
  EXPECT_TRUE(lease.IsOver(100, now_ + absl::Seconds(10.2)));
}

TEST_F(LoadDutyTest, AShardThatCannotLoadForNowIsAskedAgainASecondLater) {
  Load({"c"}, {0});
  duty_.Send();
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_FALSE(Answer(calls[0], absl::InternalError("the store says no")));
  now_ += absl::Seconds(0.9);
  EXPECT_THAT(Calls(), testing::IsEmpty());
  now_ += absl::Seconds(0.1);
  EXPECT_THAT(Calls(), testing::SizeIs(1));
  EXPECT_NE(job_.checkpoints.catalog.Find("c"), nullptr) << "it is not known to be damaged";
}

TEST_F(LoadDutyTest, DamageThatAShardFindsLeadsToTheCheckpointBeforeAndNoFurtherThanTheFirst) {
  Load({"a", "b"}, {0, 1});
  duty_.Send();
  std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(2));
  EXPECT_FALSE(Answer(calls[0], absl::DataLossError("checksum")));
  EXPECT_EQ(job_.checkpoints.catalog.Find("b"), nullptr);
  EXPECT_EQ(job_.recovery.restoration.phase(), Recovery::Phase::kReading);
  EXPECT_EQ(job_.recovery.restoration.source().id, "a");
  EXPECT_FALSE(job_.calls.Pending<v1::LoadPartitionsRequest>())
      << "what is loaded of the other is of no use";

  Load({}, {0, 1});
  duty_.Send();
  calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(2));
  EXPECT_FALSE(Answer(calls[0], absl::NotFoundError("gone")));
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
}

TEST_F(LaneLoadDutyTest, EachLoadsItsPartitionsAndTheCoordinatorTheRoundsAsWell) {
  Load({"c"}, {0, 1}, EndedAfter(/*epochs=*/2));
  duty_.Send();
  std::map<uint32_t, v1::LoadPartitionsRequest> loads = Loads();
  EXPECT_EQ(loads[0].uri(), "/models/test/checkpoints/c");
  EXPECT_THAT(loads[0].partitions(), testing::ElementsAre(0u, 2u, 4u, 6u));
  EXPECT_THAT(loads[1].partitions(), testing::ElementsAre(1u, 3u, 5u, 7u));
  EXPECT_EQ(loads[0].coordinator().last().round(), 10u);
  ASSERT_THAT(loads[0].coordinator().lanes(), testing::SizeIs(2));
  EXPECT_TRUE(loads[0].coordinator().lanes(1).ended());
  EXPECT_FALSE(loads[1].has_coordinator());
}

TEST_F(LaneLoadDutyTest, LanesThatHadEndedGoOnWhereTheJobHasMoreEpochsNow) {
  Load({"c"}, {0, 1}, EndedAfter(/*epochs=*/1));
  duty_.Send();
  const v1::CoordinatorStart start = Loads()[0].coordinator();
  ASSERT_THAT(start.lanes(), testing::SizeIs(2));
  for (const v1::LaneCursor& lane : start.lanes()) {
    EXPECT_FALSE(lane.ended());
    EXPECT_EQ(lane.cursor(), 10u);
  }
}

TEST_F(PartialLoadDutyTest, OneThatReturnsAloneIsToldOfOpenTasksAndOfThoseDoneSince) {
  const TrainerId trainer{7};
  Generations generations(5);
  const v1::Lease open = *job_.training.work.tasks()->Grant(trainer, generations);
  job_.training.work.Report({&trainer, 1}, Crew::Partly(open, /*batches=*/1));
  v1::StreamClose closed;
  closed.set_stream(StreamId::Task(0, 9).value);
  job_.training.closes.Add(closed, job_.writer);
  job_.recovery.partial[1].set_shard(1);
  Load({}, {1});
  duty_.Send();
  const std::map<uint32_t, v1::LoadPartitionsRequest> loads = Loads();
  ASSERT_THAT(loads, testing::ElementsAre(testing::Key(1u)));
  const v1::PartialRecoveryStart& told = loads.at(1).partial();
  ASSERT_THAT(told.open(), testing::SizeIs(1));
  EXPECT_EQ(told.open(0).stream(), StreamId::Task(0, 0).value);
  EXPECT_EQ(told.open(0).prefix(), 1u);
  EXPECT_EQ(told.open(0).generation().count(), open.generation().count());
  ASSERT_THAT(told.closed(), testing::SizeIs(1));
  EXPECT_EQ(told.closed(0).stream(), closed.stream());
}

TEST_F(PartialLoadDutyTest, WhereItFindsDamageEverybodyReturnsAndNotItAloneToAnEarlierOne) {
  job_.recovery.partial[1].set_shard(1);
  Load({"a", "b"}, {1});
  duty_.Send();
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_FALSE(Answer(calls[0], absl::DataLossError("checksum")));
  EXPECT_THAT(orders_.orders, testing::ElementsAre("give up partial recovery: checksum"));
  EXPECT_EQ(job_.checkpoints.catalog.Find("b"), nullptr);
  EXPECT_EQ(job_.recovery.restoration.phase(), Recovery::Phase::kLoading);
}

}  // namespace
}  // namespace capstan::chief
