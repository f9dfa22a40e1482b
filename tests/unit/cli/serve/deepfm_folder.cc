#include "tests/unit/cli/serve/deepfm_folder.h"

#include "capstan/base/hash.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/model/layout.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {
namespace {

constexpr uint32_t kFolderPartitions = 2;

v1::JobSpec DeepFm() {
  v1::JobSpec job = SpecOf("deepfm", 4, 2);
  job.set_job("ctr");
  job.set_partition_count(kFolderPartitions);
  job.mutable_model()->set_embedding_stddev(0.5f);
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_sparse_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  EXPECT_EQ(LayOutModel(job), absl::OkStatus());
  return job;
}

}  // namespace

DeepFmFolder::DeepFmFolder() {
  const v1::JobSpec job = DeepFm();
  const auto folder = *OpenObjectStore(path_);
  v1::Manifest manifest;
  manifest.set_id("1-a");
  *manifest.mutable_job() = job;
  for (uint32_t i = 0; i < kFolderPartitions; ++i) {
    const auto store = *PartitionStore::Create(job, LayoutOf(job), static_cast<PartitionIndex>(i));
    *manifest.add_files() =
        PutPartial(*folder, store->partition(),
                   EncodePartition(*store, {.partition_count = kFolderPartitions}), 0);
  }
  EXPECT_EQ(WriteManifest(*folder, manifest), absl::OkStatus());
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

}  // namespace capstan::cli
