#include "capstan/checkpoint/manifest.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  v1::SavedFile WriteFile(int partition) {
    const v1::JobSpec job = SmallJob();
    const auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex(partition));
    const std::string encoded = EncodePartition(*store, {.partition_count = 2, .machine = {}});
    return PutPartial(*folder_, PartitionIndex(partition), encoded, store->row_count());
  }

  v1::Manifest WholeManifest() {
    v1::Manifest manifest;
    manifest.set_id("000000000012-0f");
    manifest.set_step(12);
    manifest.set_timeline(3);
    *manifest.mutable_job() = SmallJob();
    *manifest.add_files() = WriteFile(0);
    *manifest.add_files() = WriteFile(1);
    manifest.mutable_progress()->set_examples(1234);
    (*manifest.mutable_metrics())["auc"] = 0.75;
    return manifest;
  }

  const TestFolder temporary_;
  const std::unique_ptr<ObjectStore> folder_ = *OpenObjectStore(temporary_.path());
};

TEST_F(CheckpointTest, GivesBackTheManifestAndItsFiles) {
  ASSERT_TRUE(WriteManifest(*folder_, WholeManifest()).ok());
  const absl::StatusOr<v1::Manifest> manifest = ReadManifest(*folder_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  v1::Manifest expected = WholeManifest();
  expected.set_format(1);
  EXPECT_EQ(manifest->SerializeAsString().size(), expected.SerializeAsString().size());
  EXPECT_EQ(manifest->DebugString(), expected.DebugString());
  for (const v1::SavedFile& file : manifest->files()) {
    const auto decoded =
        ReadPartitionFile(*folder_, file, manifest->job(), LayoutOf(manifest->job()));
    EXPECT_TRUE(decoded.ok()) << decoded.status();
  }
}

TEST_F(CheckpointTest, WritesEqualManifestsAsTheSameText) {
  v1::Manifest ascending = WholeManifest();
  v1::Manifest descending = WholeManifest();
  for (int i = 0; i < 20; ++i) {
    (*ascending.mutable_metrics())[absl::StrCat("metric ", i)] = i;
    (*descending.mutable_metrics())[absl::StrCat("metric ", 19 - i)] = 19 - i;
  }
  EXPECT_EQ(*ManifestText(ascending), *ManifestText(descending));
}

TEST_F(CheckpointTest, IsNoCheckpointWithoutAManifest) {
  WriteFile(0);
  EXPECT_EQ(ReadManifest(*folder_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointTest, FindsEveryFlippedOrMissingByteOfTheManifest) {
  const std::string text = *ManifestText(WholeManifest());
  ASSERT_TRUE(ParseManifest(text).ok());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    ASSERT_EQ(ParseManifest(damaged).status().code(), absl::StatusCode::kDataLoss) << i;
    damaged.erase(i, 1);
    ASSERT_EQ(ParseManifest(damaged).status().code(), absl::StatusCode::kDataLoss) << i;
    ASSERT_EQ(ParseManifest(text.substr(0, i)).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST_F(CheckpointTest, CommitsAFolderOnlyOnce) {
  ASSERT_TRUE(WriteManifest(*folder_, WholeManifest()).ok());
  EXPECT_EQ(WriteManifest(*folder_, WholeManifest()).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(CheckpointTest, RefusesAManifestThatDoesNotNameEveryPartitionOnce) {
  v1::Manifest manifest = WholeManifest();
  manifest.mutable_files()->RemoveLast();
  EXPECT_EQ(WriteManifest(*folder_, manifest).code(), absl::StatusCode::kInvalidArgument);
  *manifest.add_files() = manifest.files(0);
  EXPECT_EQ(WriteManifest(*folder_, manifest).code(), absl::StatusCode::kInvalidArgument);
  manifest.mutable_job()->set_partition_count(std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(WriteManifest(*folder_, manifest).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CheckpointTest, RefusesFileNamesThatLeadElsewhere) {
  v1::Manifest manifest = WholeManifest();
  manifest.mutable_files(0)->set_name("../partition-0000.capstan");
  EXPECT_EQ(WriteManifest(*folder_, manifest).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CheckpointTest, FindsAFileThatIsNotTheOneOfTheManifest) {
  const v1::Manifest manifest = WholeManifest();
  const v1::SavedFile& file = manifest.files(1);
  PutPartial(*folder_, PartitionIndex{1}, EncodedSmallPartition(), 3);
  const v1::JobSpec job = SmallJob();
  const absl::Status status = ReadPartitionFile(*folder_, file, job, LayoutOf(job)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("partition-0001.capstan"));
}

TEST_F(CheckpointTest, ReportsAFileThatIsMissing) {
  const v1::Manifest manifest = WholeManifest();
  ASSERT_TRUE(folder_->Delete("partition-0000.capstan").ok());
  const v1::JobSpec job = SmallJob();
  EXPECT_EQ(ReadPartitionFile(*folder_, manifest.files(0), job, LayoutOf(job)).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace capstan
