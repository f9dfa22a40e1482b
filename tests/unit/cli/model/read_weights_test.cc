#include "cli/model/read_weights.h"

#include <filesystem>
#include <string>
#include <vector>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/placement/placement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;

constexpr uint32_t kPartitions = 13;
constexpr uint64_t kRows = 1000;

v1::JobSpec Job() {
  v1::JobSpec job = SmallJob();
  job.set_partition_count(kPartitions);
  return job;
}

// A checkpoint of that job, whose table has been pushed twice.
class ReadWeightsTest : public testing::Test {
 protected:
  ReadWeightsTest() {
    const v1::JobSpec job = Job();
    const auto folder = *OpenObjectStore(folder_.path());
    v1::Manifest manifest;
    manifest.set_id("1-a");
    *manifest.mutable_job() = job;
    for (uint32_t i = 0; i < kPartitions; ++i) {
      const auto store =
          *PartitionStore::Create(job, LayoutOf(job), static_cast<PartitionIndex>(i));
      Push(*store);
      Push(*store);
      *manifest.add_files() =
          PutPartial(*folder, store->partition(),
                     EncodePartition(*store, {.partition_count = kPartitions}), 0);
    }
    EXPECT_EQ(WriteManifest(*folder, manifest), absl::OkStatus());
  }

  static void Push(PartitionStore& store) {
    std::vector<uint64_t> keys;
    std::vector<float> values;
    for (uint64_t key = 0; key < kRows; ++key) {
      if (PartitionOfKey(key, /*table_seed=*/1, kPartitions) != store.partition()) continue;
      keys.push_back(key);
      values.insert(values.end(), {static_cast<float>(key), 1 / (1 + static_cast<float>(key))});
    }
    const RowGradients gradient = {.keys = keys, .values = values, .pulled = {}};
    store.tables()[0]->Apply({&gradient, 1}, {.progress_examples = 5000});
  }

  const TestFolder folder_;
};

TEST_F(ReadWeightsTest, GivesTheBitsOfPartitionsThatAreReadOneAfterTheOther) {
  const auto reader = CheckpointReader::Open(folder_.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto weights = ReadWeights(*reader);
  ASSERT_TRUE(weights.ok()) << weights.status();
  ASSERT_EQ(weights->size(), kPartitions);
  const v1::JobSpec job = Job();
  size_t rows = 0;
  for (uint32_t i = 0; i < kPartitions; ++i) {
    const auto one = reader->Read(static_cast<PartitionIndex>(i), job, LayoutOf(job));
    ASSERT_TRUE(one.ok()) << one.status();
    const PartitionStore& read = *(*weights)[i];
    EXPECT_EQ(read.partition(), static_cast<PartitionIndex>(i));
    one->store->tables()[0]->ForEachRow([&](const RowState& row) {
      std::vector<float> pulled(2);
      read.tables()[0]->Pull(std::vector<uint64_t>{row.key}, pulled.data());
      EXPECT_THAT(pulled, ElementsAre(row.state[0], row.state[1])) << row.key;
      ++rows;
    });
    for (const Block& block : one->store->blocks().blocks()) {
      EXPECT_EQ(read.blocks().Weights(block.id), one->store->blocks().Weights(block.id));
    }
  }
  EXPECT_EQ(rows, kRows);
}

TEST_F(ReadWeightsTest, APartitionThatIsMissingIsLost) {
  size_t removed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().filename().string().find("partition-0007") != 0) continue;
    std::filesystem::remove(entry.path());
    ++removed;
    break;
  }
  ASSERT_EQ(removed, 1u);
  const auto reader = CheckpointReader::Open(folder_.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(absl::IsDataLoss(ReadWeights(*reader).status()));
}

}  // namespace
}  // namespace capstan::cli
