#include "capstan/checkpoint/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::HasSubstr;

void PushQuarters(PartitionStore& store, const std::vector<uint64_t>& keys) {
  const std::vector<float> values(keys.size() * 2, 0.25f);
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  store.FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 4096});
}

// The store as a file, which is then taken for safe.
std::string SavedSafely(PartitionStore& store, const std::string& parent) {
  PartitionFileOptions options = {.partition_count = 2, .timeline = 5, .parent = parent};
  std::string file = EncodePartition(store, options);
  store.Mark(/*changes_only=*/false);
  store.SettleMark(/*safe=*/true);
  return file;
}

std::string WholeFile(PartitionStore& store) {
  return EncodePartition(store, {.partition_count = 2, .timeline = 5});
}

class ChainTest : public testing::Test {
 protected:
  std::string Uri(const std::string& id) const { return folder_.Path(id); }

  // Both partitions, the second one after some pushes.
  void Write(const std::string& id, const std::string& parent) {
    const auto folder = *OpenObjectStore(Uri(id));
    v1::Manifest manifest;
    manifest.set_id(id);
    manifest.set_parent(parent);
    *manifest.mutable_job() = SmallJob();
    const auto empty = *PartitionStore::Create(SmallJob(), LayoutOf(SmallJob()), PartitionIndex{0});
    *manifest.add_files() =
        PutPartial(*folder, PartitionIndex{0}, EncodePartition(*empty, {.partition_count = 2}), 0);
    *manifest.add_files() = PutPartial(*folder, PartitionIndex{1}, SavedSafely(*store_, parent), 0);
    manifest.mutable_files(1)->set_delta(!parent.empty());
    ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  }

  absl::StatusOr<DecodedPartition> Read(const std::string& id) {
    auto reader = CheckpointReader::Open(Uri(id));
    if (!reader.ok()) return reader.status();
    return reader->Read(PartitionIndex{1}, SmallJob(), LayoutOf(SmallJob()));
  }

  const TestFolder folder_;
  std::unique_ptr<PartitionStore> store_ = SmallPartition(/*rows=*/50);
};

TEST_F(ChainTest, IsReadFromTheWholeOneOn) {
  Write("100-a", "");
  PushQuarters(*store_, {1001});
  Write("200-b", "100-a");
  PushQuarters(*store_, {2001, 3});
  PushQuarters(*store_, {3});
  Write("300-c", "200-b");
  const auto read = Read("300-c");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WholeFile(*read->store), WholeFile(*store_));
  EXPECT_EQ(CheckpointReader::Open(Uri("300-c"))->chain_length(), 3u);
}

TEST_F(ChainTest, ALostOrDamagedParentIsNamed) {
  Write("100-a", "");
  PushQuarters(*store_, {1001});
  Write("200-b", "100-a");
  const std::string file = folder_.Path("100-a/partition-0001.capstan");
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(200).put('?');
  const absl::Status damaged = Read("200-b").status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("100-a: partition-0001.capstan"));
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("at byte"));
  std::filesystem::remove(file);
  const absl::Status missing = Read("200-b").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("100-a: partition-0001.capstan"));
  std::filesystem::remove_all(Uri("100-a"));
  EXPECT_EQ(Read("200-b").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ChainTest, ACircleEnds) {
  store_->TrackChanges();
  Write("100-a", "200-b");
  Write("200-b", "100-a");
  EXPECT_EQ(Read("200-b").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ChainTest, AFolderWithoutAManifestHoldsNoCheckpoint) {
  const absl::Status none = CheckpointReader::Open(Uri("100-a")).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr(Uri("100-a")));
}

TEST_F(ChainTest, AParentThatIsNotThereIsLost) {
  Write("100-a", "");
  PushQuarters(*store_, {1001});
  Write("200-b", "100-a");
  std::filesystem::remove_all(Uri("100-a"));
  const absl::Status lost = CheckpointReader::Open(Uri("200-b")).status();
  EXPECT_TRUE(absl::IsDataLoss(lost)) << lost;
  EXPECT_THAT(std::string(lost.message()), HasSubstr(Uri("200-b")));
  EXPECT_THAT(std::string(lost.message()), HasSubstr(Uri("100-a")));
}

TEST_F(ChainTest, AStoreThatIsAwayIsNoLoss) {
  Write("100-a", "");
  PushQuarters(*store_, {1001});
  Write("200-b", "100-a");
  const StoreOpener open =
      [this](const std::string& uri) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
    if (uri == Uri("100-a")) return absl::UnavailableError("away");
    return OpenObjectStore(uri);
  };
  const absl::Status away = CheckpointReader::Open(Uri("200-b"), open).status();
  EXPECT_TRUE(absl::IsUnavailable(away)) << away;
}

TEST_F(ChainTest, ReadingTakesTheBytesOfAllThatAPartitionNeeds) {
  Write("100-a", "");
  PushQuarters(*store_, {1001});
  Write("200-b", "100-a");
  const auto whole = CheckpointReader::Open(Uri("100-a"));
  const auto reader = CheckpointReader::Open(Uri("200-b"));
  ASSERT_TRUE(whole.ok() && reader.ok());
  EXPECT_EQ(whole->chain_length(), 1u);
  EXPECT_EQ(reader->bytes_of(PartitionIndex{0}), reader->manifest().files(0).bytes())
      << "it is stored whole there, so its parent is not read";
  EXPECT_EQ(reader->bytes_of(PartitionIndex{1}),
            reader->manifest().files(1).bytes() + whole->manifest().files(1).bytes());
}

TEST_F(ChainTest, AJobThatPlacesItsParametersOtherwiseIsToldTheDifference) {
  Write("100-a", "");
  const auto reader = CheckpointReader::Open(Uri("100-a"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(reader->CheckJob(SmallJob()).ok());
  v1::JobSpec job = SmallJob();
  job.set_partition_count(3);
  EXPECT_EQ(reader->CheckJob(job),
            absl::FailedPreconditionError("the checkpoint's partition_count is 2, the job's 3"));
  job = SmallJob();
  job.mutable_tables()->RemoveLast();
  EXPECT_THAT(std::string(reader->CheckJob(job).message()), HasSubstr("number of tables is 2"));
  job = SmallJob();
  *job.add_tensors() = job.tensors(0);
  EXPECT_THAT(std::string(reader->CheckJob(job).message()), HasSubstr("number of tensors is 2"));
  job = SmallJob();
  job.mutable_tables(1)->set_seed(99);
  EXPECT_THAT(std::string(reader->CheckJob(job).message()),
              HasSubstr("seed of table table4 is 4, the job's 99"));
}

}  // namespace
}  // namespace capstan
