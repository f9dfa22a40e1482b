#include "chief/duties/checkpoint_duty.h"

#include <cmath>
#include <map>

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// A job whose next checkpoint is due in a minute.
class CheckpointDutyTest : public DutyTest {
 protected:
  explicit CheckpointDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {
    Run(2);
    job_.checkpoints.checkpointer.StartClock(now_);
  }

  // Each shard that is asked to save has saved all that it has.
  void AnswerSaves(bool delta = false) {
    for (const CallShard& call : Calls()) {
      parent_ = call.request.Get<v1::SavePartitionsRequest>().parent();
      v1::SavePartitionsReply reply;
      reply.set_done(true);
      reply.add_files()->set_delta(delta);
      duty_.OnAnswer(*job_.calls.OnReply(call.call, ShardReply(reply), now_), now_);
    }
  }
  // A checkpoint is asked for, and taken.
  v1::Manifest Take(bool delta = false) {
    duty_.Ask(/*asker=*/1);
    duty_.Advance(now_);
    AnswerSaves(delta);
    duty_.Advance(now_);
    return Written();
  }
  // The manifest that is to be written now, which succeeds.
  v1::Manifest Written() {
    const std::vector<WriteManifest> written = Taken<WriteManifest>();
    EXPECT_THAT(written, testing::SizeIs(1));
    if (written.empty()) return {};
    duty_.OnManifestWritten(written[0].uri, absl::OkStatus(), now_);
    return written[0].manifest;
  }
  // By shard: whether it is asked to freeze what it saves.
  std::map<uint32_t, bool> Freezes() {
    std::map<uint32_t, bool> freezes;
    for (const CallShard& call : Calls()) {
      freezes[call.shard] = call.request.Get<v1::SavePartitionsRequest>().freeze();
    }
    return freezes;
  }
  // Shard 1 is to leave, and twice its partitions could not be moved.
  void LeaveInVain() {
    shard(1).draining = true;
    for (int i = 0; i < 2; ++i) {
      job_.placement.moves.Plan({PlannedMove{.partition = 1, .from = 1, .to = 0}},
                                "shard 1 leaves");
      job_.placement.moves.Begin([](const PlannedMove&) { return uint64_t{1}; }, now_);
      job_.placement.moves.Cancel(/*failed=*/true, now_, job_.calls);
    }
  }

  CheckpointDuty duty_{job_, orders_};
  std::string parent_;  // On which shards were to build last.
};

class PartialCheckpointDutyTest : public CheckpointDutyTest {
 protected:
  PartialCheckpointDutyTest()
      : CheckpointDutyTest(CrewOptions{.tasks = 10, .partial = true, .uri = "/models"}) {}
};

class DeltaCheckpointDutyTest : public CheckpointDutyTest {
 protected:
  DeltaCheckpointDutyTest()
      : CheckpointDutyTest(CrewOptions{.tasks = 10, .uri = "/models", .max_deltas = 1}) {}
};

TEST_F(CheckpointDutyTest, WhoAsksIsToldTheFolderOnceTheManifestIsWritten) {
  duty_.Ask(7);
  duty_.Advance(now_);
  AnswerSaves();
  duty_.Advance(now_);
  const std::vector<Action> actions = job_.outbox.Take();
  ASSERT_THAT(actions, testing::Contains(testing::VariantWith<WriteManifest>(testing::_)));
  EXPECT_THAT(actions,
              testing::Not(testing::Contains(testing::VariantWith<AnswerCheckpoint>(testing::_))));

  duty_.OnManifestWritten(std::get<WriteManifest>(actions.back()).uri, absl::OkStatus(), now_);
  const std::vector<AnswerCheckpoint> answers = Taken<AnswerCheckpoint>();
  ASSERT_THAT(answers, testing::SizeIs(1));
  EXPECT_EQ(answers[0].asker, 7u);
  EXPECT_EQ(answers[0].uri.value(),
            job_.checkpoints.checkpointer.UriOf(job_.checkpoints.catalog.newest()->id));
}

TEST_F(CheckpointDutyTest, NobodyWaitsForACheckpointThatThereWillNeverBe) {
  duty_.Ask(7);
  duty_.AnswerIfEnded();
  EXPECT_THAT(job_.checkpoints.askers, testing::SizeIs(1)) << "the job goes on";
  job_.Fail(v1::FAILURE_KIND_ERROR, "no room");
  duty_.AnswerIfEnded();
  duty_.Ask(8);
  const std::vector<AnswerCheckpoint> answers = Taken<AnswerCheckpoint>();
  ASSERT_THAT(answers, testing::SizeIs(2));
  EXPECT_EQ(answers[0].uri.status(), absl::FailedPreconditionError("the job has failed"));
  EXPECT_EQ(answers[1].uri.status(), absl::FailedPreconditionError("the job is not running"));
}

TEST_F(CheckpointDutyTest, TheSixtyFifthWhoAsksIsRefusedAndTheOthersGoOnWaiting) {
  for (uint64_t asker = 1; asker <= 65; ++asker) duty_.Ask(asker);
  const std::vector<AnswerCheckpoint> answers = Taken<AnswerCheckpoint>();
  ASSERT_THAT(answers, testing::SizeIs(1));
  EXPECT_EQ(answers[0].asker, 65u);
  EXPECT_TRUE(absl::IsResourceExhausted(answers[0].uri.status()));
  EXPECT_THAT(job_.checkpoints.askers, testing::SizeIs(64));
}

TEST_F(CheckpointDutyTest, OneOfWhichNothingHasMovedForAnHourIsGivenUpAndTheNextIsTried) {
  duty_.Ask(7);
  duty_.Advance(now_);
  now_ += absl::Hours(1);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.checkpoints.checkpointer.running());
  now_ += absl::Seconds(1);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.checkpoints.checkpointer.running());
  const std::vector<AnswerCheckpoint> answers = Taken<AnswerCheckpoint>();
  ASSERT_THAT(answers, testing::SizeIs(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers[0].uri.status()));
  duty_.Advance(now_ + absl::Seconds(1));
  EXPECT_TRUE(job_.checkpoints.checkpointer.running());
}

TEST_F(CheckpointDutyTest, WithAShardThatLeavesAllFreezeForAllReturnToThisCheckpoint) {
  LeaveInVain();
  duty_.Advance(now_);
  EXPECT_THAT(Freezes(), testing::ElementsAre(testing::Pair(0, true), testing::Pair(1, true)));
}

TEST_F(PartialCheckpointDutyTest, OnlyTheShardThatLeavesFreezesWhereTheOthersGoOn) {
  LeaveInVain();
  duty_.Advance(now_);
  EXPECT_THAT(Freezes(), testing::ElementsAre(testing::Pair(0, false), testing::Pair(1, true)));
}

TEST_F(CheckpointDutyTest, AShardThatComesToLeaveMeanwhileIsSavedWithItsLastUpdate) {
  duty_.Ask(7);
  duty_.Advance(now_);
  EXPECT_THAT(Freezes(), testing::ElementsAre(testing::Pair(0, false), testing::Pair(1, false)));
  LeaveInVain();
  duty_.Advance(now_);
  EXPECT_THAT(Freezes(), testing::ElementsAre(testing::Pair(0, true), testing::Pair(1, true)));
  EXPECT_EQ(job_.checkpoints.checkpointer.failures(), 0u);
  EXPECT_THAT(job_.checkpoints.askers, testing::ElementsAre(7u));
}

TEST_F(CheckpointDutyTest, ShardsThatAnAttemptHasClosedAreOpenOnceAllHaveMarkedTheNextOne) {
  job_.checkpoints.closed = true;
  duty_.Advance(now_);
  const std::vector<CallShard> saves = Calls();
  ASSERT_THAT(saves, testing::SizeIs(2));
  for (const CallShard& call : saves) {
    EXPECT_TRUE(job_.checkpoints.closed);
    const v1::SavePartitionsReply marked;
    duty_.OnAnswer(*job_.calls.OnReply(call.call, ShardReply(marked), now_), now_);
    duty_.Advance(now_);
  }
  EXPECT_FALSE(job_.checkpoints.closed);
}

TEST_F(CheckpointDutyTest, AManifestThatIsWrittenAfterItsAttemptWasGivenUpEndsNoOtherAttempt) {
  const auto save = [this] {
    duty_.Advance(now_);
    AnswerSaves();
    duty_.Advance(now_);
    return Taken<WriteManifest>().at(0).uri;
  };
  duty_.Ask(7);
  const std::string given_up = save();
  job_.checkpoints.checkpointer.Abandon(absl::CancelledError("a shard is lost"), now_, job_.calls);
  duty_.Ask(8);
  const std::string uri = save();
  ASSERT_NE(uri, given_up);

  duty_.OnManifestWritten(given_up, absl::UnavailableError("away"), now_);
  EXPECT_TRUE(job_.checkpoints.checkpointer.running());
  duty_.OnManifestWritten(given_up, absl::OkStatus(), now_);
  EXPECT_EQ(job_.checkpoints.catalog.newest(), nullptr);
  duty_.OnManifestWritten(uri, absl::OkStatus(), now_);
  EXPECT_EQ(job_.checkpoints.checkpointer.UriOf(job_.checkpoints.catalog.newest()->id), uri);
}

TEST_F(CheckpointDutyTest, TheBestIsNotTakenForSavedByAnAttemptThatHadBegunBefore) {
  duty_.Ask(7);
  duty_.Advance(now_);
  v1::Evaluation best;
  (*best.mutable_metrics())["auc"] = 0.9;
  job_.training.standstill = {.step = Standstill::Step::kReached, .evaluation = best, .save = true};
  AnswerSaves();
  duty_.Advance(now_);
  Written();
  EXPECT_TRUE(job_.training.standstill.save);

  EXPECT_THAT(Take().metrics(), testing::UnorderedElementsAre(testing::Pair("auc", 0.9)));
  EXPECT_FALSE(job_.training.standstill.save);
}

TEST_F(CheckpointDutyTest, TheBestIsSavedOnceAlsoWhereAnotherMetricOfItHasComeToNoNumber) {
  v1::Evaluation best;
  (*best.mutable_metrics())["auc"] = 0.9;
  (*best.mutable_metrics())["logloss"] = std::nan("");
  job_.training.standstill = {.step = Standstill::Step::kReached, .evaluation = best, .save = true};
  Take();
  EXPECT_FALSE(job_.training.standstill.save);
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), testing::IsEmpty());
}

TEST_F(CheckpointDutyTest, StreamsThatSomeShardMayHoldOpenAreNamedInTheManifest) {
  v1::StreamClose close;
  close.set_stream(5);
  job_.training.closes.Add(close, job_.writer);
  const v1::Manifest open = Take();
  ASSERT_THAT(open.unclosed(), testing::SizeIs(1));
  EXPECT_EQ(open.unclosed(0).stream(), 5u);

  job_.training.closes.PassOn(/*quiet=*/false, job_.writer);
  job_.training.closes.Send({0, 1}, absl::Seconds(1), job_.calls);
  job_.calls.CancelAll();
  for (uint32_t shard : {0, 1}) job_.training.closes.OnClosed(shard);
  EXPECT_THAT(Take().unclosed(), testing::IsEmpty());
}

TEST_F(CheckpointDutyTest, WhenTheModelIsStoredNothingIsSavedAnyMore) {
  job_.BeginEnd("");
  job_.training.end.step = EndStep::kSave;
  job_.training.end.saving = true;
  duty_.Advance(now_);
  AnswerSaves();
  duty_.Advance(now_);
  Written();
  EXPECT_TRUE(job_.training.end.saved);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.checkpoints.checkpointer.running());
  job_.state = v1::JOB_STATE_COMPLETED;
  job_.training.end.saving = true;
  duty_.Advance(now_);
  EXPECT_FALSE(job_.checkpoints.checkpointer.running()) << "the job has ended";
}

TEST_F(CheckpointDutyTest, AnAttemptAtTheModelThatFailsIsNotTakenForTheModel) {
  job_.BeginEnd("");
  job_.training.end.saving = true;
  duty_.Advance(now_);
  for (const CallShard& call : Calls()) {
    const auto answer =
        job_.calls.OnReply(call.call, absl::ResourceExhaustedError("the disk is full"), now_);
    if (answer) duty_.OnAnswer(*answer, now_);
  }
  EXPECT_FALSE(job_.training.end.saving);
  EXPECT_EQ(job_.model_uri, "");
  job_.training.end.saving = true;
  const v1::Manifest model = Take();
  EXPECT_TRUE(job_.training.end.saved);
  EXPECT_EQ(job_.model_uri, job_.checkpoints.checkpointer.UriOf(model.id()));
}

TEST_F(DeltaCheckpointDutyTest, ADeltaBuildsOnTheNewestOfThisRunUntilThereAreAsManyAsAllowed) {
  job_.checkpoints.catalog.Add(
      {.id = "of an earlier run", .timeline = job_.recovery.first_timeline - 1});
  const std::string full = Take().id();
  EXPECT_EQ(parent_, "");
  const v1::Manifest delta = Take(/*delta=*/true);
  EXPECT_EQ(parent_, full);
  EXPECT_EQ(delta.parent(), full);
  (void)Take();
  EXPECT_EQ(parent_, "");
}

}  // namespace
}  // namespace capstan::chief
