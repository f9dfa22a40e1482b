#include "chief/job_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "chief/work.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

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
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("seed: 7"));
  EXPECT_EQ((*store_->ReadState())->term(), 1u) << "nothing was claimed";
}

TEST_F(ClaimJobTest, AKeptJobGoesOnByWhatIsStoredAndNotByWhatIsAskedFor) {
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.spec.set_seed(7);
  asked_for_.spec.mutable_checkpoint()->set_uri("where it was found");
  const absl::StatusOr<Claim> claim = Start({.keep = [](const v1::JobSpec& stored) {
    return JobPlan{.spec = stored, .eval = {v1::Task()}};
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
  asked_for_.train = {Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = {Range("a", 120), Range("b", 50)};
  const absl::StatusOr<Claim> claim = Start({.keep = NotAsked});
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_FALSE(claim->anew);
  ASSERT_EQ(claim->plan.train.size(), 1u);
  EXPECT_EQ(claim->plan.train[0].end(), 100u);
  EXPECT_EQ(claim->data_change.more, std::vector<std::string>{"b"});
  EXPECT_EQ(claim->data_change.longer, std::vector<std::string>{"a"});
  Train();
  EXPECT_EQ(Start({.keep = NotAsked})->plan.train[0].end(), 100u) << "so does the next chief";
}

TEST_F(ClaimJobTest, OtherDataAreRefusedWithTheDifferenceUnlessTheJobIsKept) {
  asked_for_.train = {Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = {Range("a", 100), Range("b", 50)};
  const absl::StatusOr<Claim> refused = Start({});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("1 file more (b)"));
}

TEST_F(ClaimJobTest, DataThatHaveGoneAreRefusedThoughTheJobIsKept) {
  asked_for_.train = {Range("a", 100), Range("b", 50)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  asked_for_.train = {Range("a", 99)};
  const absl::StatusOr<Claim> refused = Start({.keep = NotAsked});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(),
              testing::HasSubstr("1 file gone (b), 1 file shorter (a)"));
  EXPECT_EQ((*store_->ReadState())->term(), 1u) << "nothing was claimed";
}

TEST_F(ClaimJobTest, OtherDataAreRefusedWhereNobodyHasKeptWhatTheJobHasBegunWith) {
  asked_for_.train = {Range("a", 100)};
  ASSERT_TRUE(Start({}).ok());
  Train();
  const std::vector<ObjectInfo> kept = *folder_->List("state/tasks-");
  ASSERT_EQ(kept.size(), 1u);
  ASSERT_TRUE(folder_->Delete(kept[0].key).ok());
  asked_for_.train = {Range("a", 100), Range("b", 50)};
  EXPECT_TRUE(absl::IsFailedPrecondition(Start({.keep = NotAsked}).status()));
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

}  // namespace
}  // namespace capstan::chief
