#include "cli/model/stored_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/chief_state.pb.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StoredJobTest : public testing::Test {
 protected:
  StoredJobTest() {
    state_.mutable_job()->set_job("demo");
    state_.mutable_job()->mutable_train()->set_epochs(2);
    state_.mutable_job()->mutable_model()->set_loss(v1::LOSS_LOGISTIC);
    state_.mutable_job()->mutable_data()->set_format(v1::DATA_FORMAT_SYNTHETIC);
    state_.mutable_job()->mutable_data()->mutable_synthetic()->set_train_rows(1000);
    state_.mutable_progress()->set_examples(500);
    state_.set_elapsed_seconds(9);
  }

  void Store() {
    const auto store = OpenObjectStore(folder_);
    ASSERT_TRUE(store.ok());
    ASSERT_EQ((*store)->Put("state/chief.json", *SealJson(state_)), absl::OkStatus());
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
  v1::ChiefState state_;
};

TEST_F(StoredJobTest, TellsOfAJobThatHasEnded) {
  state_.set_state(v1::JOB_STATE_COMPLETED);
  state_.set_model_uri("/m/7");
  (*state_.add_evaluations()->mutable_metrics())["logloss"] = 295832;
  Store();
  const auto status = StoredStatus(folder_, absl::Now());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->job(), "demo");
  EXPECT_EQ(status->state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(status->progress(), 1);
  EXPECT_EQ(status->model_uri(), "/m/7");
  EXPECT_THAT(status->warnings(), ElementsAre(HasSubstr("worse than none")));
}

TEST_F(StoredJobTest, TellsThatNobodyTrainsAJobThatHasNotEnded) {
  state_.set_state(v1::JOB_STATE_RUNNING);
  Store();
  const auto status = StoredStatus(folder_, absl::Now());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(status->progress(), 0.25);
  EXPECT_EQ(status->examples_expected(), 2000u);
  EXPECT_THAT(status->reason(), HasSubstr("nobody trains it now"));
}

TEST_F(StoredJobTest, CountsTheRecordsOfFilesByTheTasksThatWereKept) {
  state_.set_state(v1::JOB_STATE_RUNNING);
  state_.mutable_job()->mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  state_.mutable_progress()->set_tasks_fingerprint(0xABC);
  Store();
  v1::TrainTasks tasks;
  tasks.set_format(2);
  v1::TaskRun& run = *tasks.add_runs();
  run.set_file("train.csv");
  run.set_end(4000);
  run.set_ranges(4);
  run.set_step(1000);
  run.set_record_bytes(4);
  const auto store = OpenObjectStore(folder_);
  ASSERT_EQ((*store)->Put("state/tasks-0000000000000abc.json", *SealJson(tasks)), absl::OkStatus());
  const auto status = StoredStatus(folder_, absl::Now());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->examples_expected(), 2000u) << "two epochs of a thousand";
  EXPECT_EQ(status->progress(), 0.25);
}

TEST_F(StoredJobTest, SaysWhatItExpectsOfAFolderThatHoldsNoJob) {
  const auto status = StoredStatus(folder_, absl::Now());
  EXPECT_EQ(status.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.status().message(),
              HasSubstr("holds no job; expected <checkpoint.uri>/<job>"));
}

TEST_F(StoredJobTest, SaysWhatItExpectsOfAFolderThatHoldsNoModel) {
  EXPECT_THAT(
      ModelIn(folder_).status().message(),
      HasSubstr("holds no model; expected the folder of a checkpoint (with MANIFEST.json)"));
}

}  // namespace
}  // namespace capstan::cli
