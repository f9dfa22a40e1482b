#include "chief/shell/job_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "chief/work/held_out.h"
#include "chief/work/work.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/strangers_folder.h"

namespace capstan::chief {
namespace {

v1::Task Range(const std::string& file, uint64_t bytes) {
  v1::Task task;
  task.set_file(file);
  task.set_end(bytes);
  return task;
}

// For a job whose configuration is the same.
absl::StatusOr<JobPlan> NotAsked(const v1::JobSpec&) { return absl::InternalError("not asked"); }

// A store that outlives the chiefs; each opens it anew, as a process does.
class ClaimJobTest : public testing::Test {
 protected:
  absl::StatusOr<Claim> Start(const ClaimOptions& options) {
    store_ = std::make_unique<JobStore>(std::make_unique<FaultyObjectStore>(*folder_),
                                        std::make_unique<FaultyObjectStore>(*checkpoints_));
    absl::StatusOr<Claim> claim = ClaimJob(*store_, asked_for_, options, absl::UnixEpoch());
    if (claim.ok()) begun_with_ = claim->plan;
    return claim;
  }

  // What a chief that has begun to train has stored.
  void Train() {
    v1::ChiefState state = **store_->ReadState();
    state.set_state(v1::JOB_STATE_RUNNING);
    state.mutable_progress()->set_examples(100);
    state.mutable_progress()->set_tasks_fingerprint(TasksFingerprint(begun_with_));
    ASSERT_TRUE(store_->WriteState(state).ok());
  }

  // What a chief has stored whose job has ended.
  void Complete() {
    Train();
    v1::ChiefState state = **store_->ReadState();
    state.set_state(v1::JOB_STATE_COMPLETED);
    state.set_reason("stopped: enough");
    state.set_model_uri("/models/7");
    state.add_evaluations()->set_final(true);
    ASSERT_TRUE(store_->WriteState(state).ok());
  }

  JobPlan asked_for_;
  JobPlan begun_with_;  // Of the last chief that has started.
  const std::unique_ptr<ObjectStore> folder_ = MakeMemoryObjectStore();
  const std::unique_ptr<ObjectStore> checkpoints_ = MakeMemoryObjectStore();
  std::unique_ptr<JobStore> store_;
};

TEST_F(ClaimJobTest, AJobStartedOverOnceGoesOnWhenItsChiefIsStartedAgain) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  const absl::StatusOr<Claim> over = Start({.fresh_once = "second try"});
  ASSERT_TRUE(over.ok()) << over.status();
  EXPECT_TRUE(over->anew);
  EXPECT_EQ(over->history.state->progress().examples(), 0u);
  Train();
  const absl::StatusOr<Claim> again = Start({.fresh_once = "second try"});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->anew);
  EXPECT_EQ(again->history.state->progress().examples(), 100u);
  EXPECT_EQ(again->term, over->term + 1);
}

TEST_F(ClaimJobTest, AnotherNameStartsOverOnceMore) {
  ASSERT_TRUE(Start({.fresh_once = "second try"}).ok());
  Train();
  const absl::StatusOr<Claim> third = Start({.fresh_once = "third try"});
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE(third->anew);
}

TEST_F(ClaimJobTest, WithoutANameAJobThatWasStartedOverGoesOn) {
  ASSERT_TRUE(Start({.fresh_once = "second try"}).ok());
  Train();
  const absl::StatusOr<Claim> next = Start({});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(next->anew);
  EXPECT_EQ(next->history.state->fresh_once(), "second try");
}

TEST_F(ClaimJobTest, AnotherConfigurationIsRefusedWithTheDifference) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.set_seed(7);
  const absl::StatusOr<Claim> refused = Start({});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("seed: 0 -> 7; another job name"));
  EXPECT_EQ((*store_->ReadState())->term(), 1u) << "nothing was claimed";
}

TEST_F(ClaimJobTest, AllDifferencesStandInOneLineWithHowToKeepTheParameters) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  v1::ChiefState state = **store_->ReadState();
  state.set_manifest("000000000007-1");
  ASSERT_TRUE(store_->WriteState(state).ok());
  asked_for_.spec.set_seed(7);
  asked_for_.spec.mutable_train()->set_batch_size(asked_for_.spec.train().batch_size() + 1);
  const std::string refused(Start({}).status().message());
  EXPECT_THAT(refused, testing::HasSubstr("seed: 0 -> 7; "));
  EXPECT_THAT(refused, testing::HasSubstr("train.batch_size: "));
  EXPECT_THAT(refused, testing::ContainsRegex("with --from .*/checkpoints/000000000007-1 such"));
  EXPECT_THAT(refused, testing::Not(testing::HasSubstr("\n")));
}

TEST_F(ClaimJobTest, AJobThatHasEndedGoesOnForMoreEpochs) {
  asked_for_.spec.mutable_train()->set_epochs(2);
  ASSERT_TRUE(Start({}).ok());
  Complete();
  asked_for_.spec.mutable_train()->set_epochs(3);
  const absl::StatusOr<Claim> claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->history.state->state(), v1::JOB_STATE_RESTORING);
  EXPECT_EQ(claim->history.state->reason(), "") << "it is not to end at once";
  EXPECT_EQ(claim->history.state->progress().examples(), 100u);
  EXPECT_EQ(claim->history.state->model_uri(), "");
  EXPECT_EQ(claim->history.state->opened_from(), "7") << "not from a later checkpoint";
  EXPECT_FALSE(claim->history.state->evaluations(0).final()) << "the new end has one of its own";
  EXPECT_EQ((*store_->ReadState())->job().train().epochs(), 3u);
}

TEST_F(ClaimJobTest, AJobThatHasEndedIsNotTakenUpForFewerEpochsNorWithAnythingElse) {
  asked_for_.spec.mutable_train()->set_epochs(2);
  ASSERT_TRUE(Start({}).ok());
  Complete();
  asked_for_.spec.mutable_train()->set_epochs(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Start({}).status()));
  asked_for_.spec.mutable_train()->set_epochs(3);
  asked_for_.spec.set_seed(7);
  EXPECT_TRUE(absl::IsFailedPrecondition(Start({}).status()));
  EXPECT_EQ((*store_->ReadState())->state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ClaimJobTest, AKeptJobGoesOnByWhatIsStoredAndNotByWhatIsAskedFor) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.set_seed(7);
  asked_for_.spec.mutable_checkpoint()->set_uri("where it was found");
  const absl::StatusOr<Claim> claim = Start({.keep = [](const v1::JobSpec& stored) {
    return JobPlan{.spec = stored, .eval = std::vector<v1::Task>(1)};
  }});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_FALSE(claim->anew);
  EXPECT_EQ(claim->history.state->progress().examples(), 100u);
  EXPECT_EQ(claim->plan.spec.seed(), 0u);
  EXPECT_EQ(claim->plan.eval.size(), 1u) << "it was planned again";
  EXPECT_EQ(claim->plan.spec.checkpoint().uri(), "where it was found");
  EXPECT_EQ((*store_->ReadState())->job().seed(), 0u);
}

TEST_F(ClaimJobTest, AKeptJobGoesOnWithTheDataItHasBegunWithWhereFilesHaveComeAndGrown) {
  asked_for_.train = std::vector{Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = std::vector{Range("a", 120), Range("b", 50)};
  const absl::StatusOr<Claim> claim = Start({.keep = NotAsked});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_FALSE(claim->anew);
  ASSERT_EQ(claim->plan.train.size(), 1u);
  EXPECT_EQ(claim->plan.train[0].end, 100u);
  EXPECT_EQ(claim->data_change.more, std::vector<std::string>{"b"});
  EXPECT_EQ(claim->data_change.longer, std::vector<std::string>{"a"});
  Train();
  EXPECT_EQ(Start({.keep = NotAsked})->plan.train[0].end, 100u) << "so does the next chief";
}

TEST_F(ClaimJobTest, OtherDataAreRefusedWithTheDifferenceUnlessTheJobIsKept) {
  asked_for_.train = std::vector{Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = std::vector{Range("a", 100), Range("b", 50)};
  const absl::StatusOr<Claim> refused = Start({});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("1 file more (b)"));
}

TEST_F(ClaimJobTest, EvaluationsOfAnEarlierVersionCountIfTheJobNamesTheSameHeldOutFiles) {
  asked_for_.spec.mutable_data()->add_eval("/data/held.csv");
  asked_for_.eval = std::vector{Range("/data/held.csv", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  v1::ChiefState state = **store_->ReadState();
  state.add_evaluations()->set_number(1);
  ASSERT_TRUE(store_->WriteState(state).ok());
  const auto measured_on = [](const absl::StatusOr<Claim>& claim) {
    return claim->history.state->evaluations(0).held_out();
  };
  absl::StatusOr<Claim> claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  const uint64_t held_out = HeldOutFingerprint(asked_for_);
  EXPECT_EQ(measured_on(claim), held_out);
  asked_for_.spec.mutable_data()->set_eval(0, "/data/other.csv");
  asked_for_.eval = std::vector{Range("/data/other.csv", 100)};
  claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(measured_on(claim), held_out) << "what is known stays";
  state = **store_->ReadState();
  state.mutable_evaluations(0)->clear_held_out();
  ASSERT_TRUE(store_->WriteState(state).ok());
  asked_for_.spec.mutable_data()->set_eval(0, "/data/held.csv");
  claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(measured_on(claim), kUnknownHeldOut) << "nobody knows";
  claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(measured_on(claim), kUnknownHeldOut) << "nor does the next chief";
}

TEST_F(ClaimJobTest, AJobBegunBeforeTasksHadPiecesGoesOnWithoutThem) {
  asked_for_.train = std::vector{Range("/data/a.csv", 100)};
  asked_for_.spec.mutable_data()->set_shuffle(true);
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.mutable_data()->set_pieces(16);  // By default, since.
  const absl::StatusOr<Claim> again = Start({.keep = NotAsked});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->plan.spec.data().pieces(), 0u);
  EXPECT_EQ(TasksFingerprint(again->plan), again->history.state->progress().tasks_fingerprint());
}

TEST_F(ClaimJobTest, AJobBegunBeforeTasksWereNumberedInOrderKeepsItsNumbers) {
  asked_for_.train = std::vector{Range("/data/a.csv", 100)};
  asked_for_.spec.mutable_data()->set_shuffle(true);
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.mutable_data()->set_numbered_in_order(true);  // Always, since.
  const absl::StatusOr<Claim> again = Start({.keep = NotAsked});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->plan.spec.data().numbered_in_order());
  EXPECT_EQ(TasksFingerprint(again->plan), again->history.state->progress().tasks_fingerprint());
}

TEST_F(ClaimJobTest, AnotherNumberOfPiecesIsRefused) {
  asked_for_.spec.mutable_data()->set_shuffle(true);
  asked_for_.spec.mutable_data()->set_pieces(16);
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.mutable_data()->set_pieces(8);
  EXPECT_THAT(Start({}).status().message(), testing::HasSubstr("data.pieces: 16 -> 8"));
}

TEST_F(ClaimJobTest, DataThatHaveGoneAreRefusedThoughTheJobIsKept) {
  asked_for_.train = std::vector{Range("a", 100), Range("b", 50)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = std::vector{Range("a", 99)};
  const absl::StatusOr<Claim> refused = Start({.keep = NotAsked});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(),
              testing::HasSubstr("1 file gone (b), 1 file shorter (a)"));
  EXPECT_EQ((*store_->ReadState())->term(), 1u) << "nothing was claimed";
}

TEST_F(ClaimJobTest, OtherDataAreRefusedWhereNobodyHasKeptWhatTheJobHasBegunWith) {
  asked_for_.train = std::vector{Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  const std::vector<ObjectInfo> kept = *folder_->List("state/tasks-");
  ASSERT_EQ(kept.size(), 1u);
  ASSERT_TRUE(folder_->Delete(kept[0].key).ok());
  asked_for_.train = std::vector{Range("a", 100), Range("b", 50)};
  EXPECT_TRUE(absl::IsFailedPrecondition(Start({.keep = NotAsked}).status()));
}

TEST_F(ClaimJobTest, AJobIsNotTakenFromAChiefThatAnswers) {
  const auto answers = [](JobStore&, const v1::ChiefState& present) {
    return present.chief_address() == "127.0.0.1:7000";
  };
  ASSERT_TRUE(Start({.run_id = 1, .address = "127.0.0.1:7000", .host = "here"}).ok());
  Train();
  for (const bool fresh : {false, true}) {
    const absl::StatusOr<Claim> refused =
        Start({.run_id = 2, .fresh = fresh, .still_there = answers});
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
    EXPECT_THAT(refused.status().message(),
                testing::AllOf(testing::HasSubstr("127.0.0.1:7000 on here has had it since"),
                               testing::HasSubstr("--take-over")));
    EXPECT_EQ((*store_->ReadState())->term(), 1u) << "nothing was claimed";
  }
  const absl::StatusOr<Claim> taken = Start({.run_id = 2, .address = "127.0.0.1:7001"});
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ((*store_->ReadState())->chief_address(), "127.0.0.1:7001");
  EXPECT_TRUE(Start({.run_id = 3, .still_there = answers}).ok()) << "nobody answers there";
}

TEST_F(ClaimJobTest, AJobThatHasEndedIsFree) {
  ASSERT_TRUE(Start({.run_id = 1, .address = "127.0.0.1:7000"}).ok());
  v1::ChiefState state = **store_->ReadState();
  state.set_state(v1::JOB_STATE_COMPLETED);
  ASSERT_TRUE(store_->WriteState(state).ok());
  EXPECT_TRUE(
      Start({.run_id = 2, .still_there = [](JobStore&, const v1::ChiefState&) { return true; }})
          .ok());
}

TEST_F(ClaimJobTest, AChangedJobIsTakenUpByStartingOver) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.set_seed(7);
  const absl::StatusOr<Claim> claim =
      Start({.fresh_once = "second try",
             .keep = [](const v1::JobSpec& stored) { return JobPlan{.spec = stored}; }});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(claim->anew);
  EXPECT_EQ(claim->plan.spec.seed(), 7u);
}

TEST_F(ClaimJobTest, TakesNoStrangersThingsForGarbageAndWritesNothingAmongThem) {
  PutStrangersThings(*checkpoints_);
  ASSERT_TRUE(checkpoints_->Put("000000000009-a/partition-0000.capstan", "unfinished").ok());
  const absl::StatusOr<Claim> claim = Start({});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_THAT(claim->history.garbage, testing::ElementsAre("000000000009-a"));
  ExpectStrangersThings(*checkpoints_);
}

TEST_F(ClaimJobTest, AJobThatHasBegunGoesOnWithWhatWasMeasuredThen) {
  asked_for_.spec.mutable_data()->set_standardize_label(true);
  double mean = 4000;
  const ClaimOptions options{.measure = [&mean](v1::JobSpec& spec) {
    if (spec.data().label_deviation() != 0) return absl::OkStatus();
    spec.mutable_data()->set_label_mean(mean);
    spec.mutable_data()->set_label_deviation(10);
    return absl::OkStatus();
  }};
  ASSERT_TRUE(Start(options).ok());
  EXPECT_EQ((*store_->ReadState())->job().data().label_mean(), 4000);
  Train();
  mean = 5000;  // The files hold other records by now.
  const absl::StatusOr<Claim> again = Start(options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->plan.spec.data().label_mean(), 4000);
  const absl::StatusOr<Claim> over = Start({.fresh_once = "anew", .measure = options.measure});
  ASSERT_TRUE(over.ok()) << over.status();
  EXPECT_EQ(over->plan.spec.data().label_mean(), 5000);
}

}  // namespace
}  // namespace capstan::chief
