#include "cli/model/finished_model.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "capstan/checkpoint/checkpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A checkpoint of the small job.
class FinishedModelTest : public testing::Test {
 protected:
  FinishedModelTest() {
    const v1::JobSpec job = SmallJob();
    const auto folder = *OpenObjectStore(folder_.path());
    const auto first = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{0});
    v1::Manifest manifest;
    manifest.set_id("1-a");
    *manifest.mutable_job() = job;
    for (PartitionStore* store : {first.get(), second_.get()}) {
      *manifest.add_files() = PutPartial(*folder, store->partition(),
                                         EncodePartition(*store, {.partition_count = 2}), 0);
    }
    EXPECT_EQ(WriteManifest(*folder, manifest), absl::OkStatus());
  }

  const TestFolder folder_;
  const std::unique_ptr<PartitionStore> second_ = SmallPartition();
};

TEST_F(FinishedModelTest, WhatARefusalSaysEndsTheReading) {
  const absl::Status refusal = absl::FailedPreconditionError("not small enough");
  const auto refuses = [&refusal](const v1::JobSpec& job) {
    EXPECT_EQ(job.job(), "small");
    return refusal;
  };
  EXPECT_EQ(FinishedModel::Load(folder_.path(), refuses).status(), refusal);
  const auto model = FinishedModel::Load(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  for (const Block& block : second_->blocks().blocks()) {
    const auto weights = second_->blocks().Weights(block.id);
    EXPECT_THAT(model->parameters().subspan(block.flat_offset, block.length),
                testing::ElementsAreArray(weights));
  }
}

TEST_F(FinishedModelTest, OneThatIsDeletedWhileItIsReadSaysHowItWouldBeKeptForLonger) {
  const auto deleted = [this](const v1::JobSpec&) {
    const std::filesystem::directory_iterator entries(folder_.path());
    const std::vector<std::filesystem::directory_entry> all(begin(entries), end(entries));
    for (const std::filesystem::directory_entry& entry : all) std::filesystem::remove(entry.path());
    return absl::OkStatus();
  };
  const absl::Status status = FinishedModel::Load(folder_.path(), deleted).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder_.path()), HasSubstr("has been deleted while it was read"),
                    HasSubstr("checkpoint.keep")));
}

}  // namespace
}  // namespace capstan::cli
