#include "cli/model/stored_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/checkpoint/state_format.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/chief_state.pb.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

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

  void Store() { Store(folder_); }
  void Store(const std::string& folder) {
    const auto store = OpenObjectStore(folder);
    ASSERT_TRUE(store.ok());
    ASSERT_EQ((*store)->Put("state/chief.json", *SealJson(state_)), absl::OkStatus());
  }

  // A checkpoint of a job of one partition.
  static void Save(const std::string& job, const std::string& id, uint64_t step) {
    const auto store = OpenObjectStore(job + "/checkpoints/" + id);
    ASSERT_TRUE(store.ok());
    v1::Manifest manifest;
    manifest.set_id(id);
    manifest.set_step(step);
    manifest.mutable_job()->set_partition_count(1);
    v1::SavedFile& file = *manifest.add_files();
    file.set_name(PartitionFileName(PartitionIndex{0}));
    file.set_bytes(1);
    ASSERT_EQ((*store)->Put(file.name(), "x"), absl::OkStatus());
    ASSERT_EQ(WriteManifest(**store, manifest), absl::OkStatus());
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
  const auto stored = ReadStoredJob(folder_, absl::Now());
  ASSERT_TRUE(stored.ok()) << stored.status();
  const v1::GetStatusReply& status = stored->status;
  EXPECT_EQ(status.job(), "demo");
  EXPECT_EQ(status.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(status.progress(), 1);
  EXPECT_EQ(status.model_uri(), "/m/7");
  EXPECT_THAT(status.warnings(), ElementsAre(HasSubstr("worse than none")));
}

TEST_F(StoredJobTest, TellsThatNobodyTrainsAJobThatHasNotEndedAndWhereItsChiefWas) {
  state_.set_state(v1::JOB_STATE_RUNNING);
  state_.set_chief_address("here:7000");
  Store();
  const auto stored = ReadStoredJob(folder_, absl::Now());
  ASSERT_TRUE(stored.ok()) << stored.status();
  const v1::GetStatusReply& status = stored->status;
  EXPECT_EQ(status.state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(status.progress(), 0.25);
  EXPECT_EQ(status.examples_expected(), 2000u);
  EXPECT_THAT(status.reason(), HasSubstr("nobody trains it now"));
  EXPECT_EQ(stored->chief, "here:7000");
}

TEST_F(StoredJobTest, AStateOfALaterFormatIsRefusedByNameWhateverIsAskedOfIt) {
  state_.set_format(kStateFormat + 1);
  Store();
  Save(folder_, "7", 7);
  const std::string why =
      "state/chief.json: has format 2, expected at most 1: this program is older than the chief";
  for (const absl::Status& refused :
       {ReadStoredJob(folder_, absl::Now()).status(), StoredSpec(folder_).status(),
        ModelIn(folder_).status(), CheckpointsInUse(CheckpointsOf(folder_)).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(why));
  }
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
  const auto stored = ReadStoredJob(folder_, absl::Now());
  ASSERT_TRUE(stored.ok()) << stored.status();
  const v1::GetStatusReply& status = stored->status;
  EXPECT_EQ(status.examples_expected(), 2000u) << "two epochs of a thousand";
  EXPECT_EQ(status.progress(), 0.25);
}

TEST_F(StoredJobTest, SaysWhatItExpectsOfAFolderThatHoldsNoJob) {
  const auto status = ReadStoredJob(folder_, absl::Now());
  EXPECT_EQ(status.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.status().message(),
              HasSubstr("holds no job; expected <checkpoint.uri>/<job>"));
}

TEST_F(StoredJobTest, SaysWhatItExpectsOfAFolderThatHoldsNoModel) {
  EXPECT_THAT(
      ModelIn(folder_).status().message(),
      HasSubstr("holds no model; expected the folder of a checkpoint (with MANIFEST.json)"));
}

// Wherever a job's folder is named: itself, its checkpoints, or the folder in which it is the only
// one.
TEST_F(StoredJobTest, TheModelOfAJobIsTheOneThatItHasEndedWithAndNotTheNewest) {
  const std::string job = folder_ + "/demo";
  Save(job, "100-x", 100);
  Save(job, "200-y", 200);
  EXPECT_EQ(*ModelIn(job), job + "/checkpoints/200-y");
  state_.set_state(v1::JOB_STATE_COMPLETED);
  state_.set_model_uri("s3://elsewhere/demo/checkpoints/100-x");
  Store(job);
  for (const std::string& named : {job, job + "/checkpoints", job + "/checkpoints/", folder_}) {
    const absl::StatusOr<std::string> model = ModelIn(named);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(*model, job + "/checkpoints/100-x") << named;
  }
}

TEST_F(StoredJobTest, ItsCheckpointsMayBeNamedFromWithinItsFolder) {
  Save(folder_, "200-y", 200);
  state_.set_manifest("200-y");
  Store();
  const std::filesystem::path before = std::filesystem::current_path();
  for (const auto& [present, named] :
       {std::pair("", "checkpoints"), std::pair("/checkpoints", ".")}) {
    std::filesystem::current_path(folder_ + present);
    EXPECT_EQ(*ModelIn(named), folder_ + "/checkpoints/200-y");
    EXPECT_THAT(*CheckpointsInUse(named), Optional(ElementsAre("200-y")));
  }
  std::filesystem::current_path(before);
}

TEST_F(StoredJobTest, ItsCheckpointsMayBeNamedByALinkOrBeBehindOne) {
  const std::string job = folder_ + "/demo";
  Save(job, "100-x", 100);
  Save(job, "200-y", 200);
  state_.set_state(v1::JOB_STATE_COMPLETED);
  state_.set_model_uri("s3://elsewhere/demo/checkpoints/100-x");
  Store(job);
  const std::filesystem::path links = folder_ + "/links";
  std::filesystem::create_directories(links);
  for (const char* link : {"ck", "checkpoints"}) {
    const std::string named = links / link;
    std::filesystem::create_directory_symlink(job + "/checkpoints", named);
    for (const std::string& as : {named, named + "/", "file://" + named}) {
      EXPECT_THAT(*CheckpointsInUse(as), Optional(ElementsAre("100-x"))) << as;
      const absl::StatusOr<std::string> model = ModelIn(as);
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_TRUE(std::filesystem::equivalent(*model, job + "/checkpoints/100-x")) << *model;
    }
  }
  // The job's own folder of them is a link to where there is more room.
  std::filesystem::rename(job + "/checkpoints", folder_ + "/room");
  std::filesystem::create_directory_symlink(folder_ + "/room", job + "/checkpoints");
  EXPECT_THAT(*CheckpointsInUse(job + "/checkpoints"), Optional(ElementsAre("100-x")));
  EXPECT_EQ(*CheckpointsInUse(folder_ + "/room"), std::nullopt);
}

TEST_F(StoredJobTest, CheckpointsThatItsStateNamesAreInUse) {
  const std::string checkpoints = folder_ + "/checkpoints";
  EXPECT_EQ(*CheckpointsInUse(checkpoints), std::nullopt) << "there is no job";
  state_.set_manifest("300-c");
  state_.set_best_manifest("200-b");
  state_.set_opened_from("100-a");
  state_.set_model_uri("file:///out/demo/checkpoints/150-m");
  Store(folder_);
  EXPECT_THAT(*CheckpointsInUse(checkpoints),
              Optional(ElementsAre("100-a", "150-m", "200-b", "300-c")));
  EXPECT_EQ(*CheckpointsInUse(folder_), std::nullopt) << "these are no checkpoints of a job";
  ASSERT_EQ((*OpenObjectStore(folder_))->Put("state/chief.json", "damaged"), absl::OkStatus());
  EXPECT_THAT(CheckpointsInUse(checkpoints).status().message(),
              HasSubstr("says which checkpoints are needed, and cannot be read"));
}

}  // namespace
}  // namespace capstan::cli
