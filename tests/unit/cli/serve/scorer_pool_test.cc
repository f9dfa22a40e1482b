// Scorers of one model compute at the same time, and each what it computes alone.
#include "cli/serve/scorer_pool.h"

#include <thread>

#include "capstan/base/hash.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/model/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {
namespace {

constexpr uint32_t kPartitions = 2;

v1::JobSpec DeepFm() {
  v1::JobSpec job = SpecOf("deepfm", 4, 2);
  job.set_job("ctr");
  job.set_partition_count(kPartitions);
  job.mutable_model()->set_embedding_stddev(0.5f);
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_sparse_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  EXPECT_EQ(LayOutModel(job), absl::OkStatus());
  return job;
}

Batch BatchOf(size_t examples, uint64_t seed) {
  Batch batch;
  batch.offsets = {0};
  for (size_t i = 0; i < examples; ++i) {
    for (int k = 0; k < 4; ++k) batch.keys.push_back(Draw(seed, i, k) % 50);
    batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    for (int k = 0; k < 2; ++k) batch.dense.push_back(static_cast<float>(Draw(seed, i, k) % 7));
    batch.labels.push_back(0);
  }
  return batch;
}

class ScorerPoolTest : public testing::Test {
 protected:
  // A checkpoint of the job as it begins.
  ScorerPoolTest() {
    const v1::JobSpec job = DeepFm();
    const auto folder = *OpenObjectStore(folder_);
    v1::Manifest manifest;
    manifest.set_id("1-a");
    *manifest.mutable_job() = job;
    for (uint32_t i = 0; i < kPartitions; ++i) {
      const auto store =
          *PartitionStore::Create(job, LayoutOf(job), static_cast<PartitionIndex>(i));
      *manifest.add_files() =
          PutPartial(*folder, store->partition(),
                     EncodePartition(*store, {.partition_count = kPartitions}), 0);
    }
    EXPECT_EQ(WriteManifest(*folder, manifest), absl::OkStatus());
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(ScorerPoolTest, ManyThreadsGetWhatOneGets) {
  const absl::StatusOr<FinishedModel> model = FinishedModel::Load(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto alone = *Scorer::Create(*model);
  const auto pool = *ScorerPool::Create(*model, 2);
  std::vector<std::vector<float>> expected;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto logits = alone->Logits(BatchOf(1 + seed % 5, seed));
    expected.emplace_back(logits.begin(), logits.end());
  }
  EXPECT_NE(expected[0], expected[5]) << "they are not all the same";
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_EQ(pool->Logits(BatchOf(1 + seed % 5, seed)), expected[seed]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ScorersForThisMachineTest, AreOneAtLeast) {
  EXPECT_GE(ScorersForThisMachine(0), 1u);
  EXPECT_EQ(ScorersForThisMachine(1 << 20), 1u);
}

}  // namespace
}  // namespace capstan::cli
