// A small model of data.features in a folder of its own.
#ifndef CAPSTAN_TESTS_UNIT_CLI_MODEL_FILMS_FOLDER_H_
#define CAPSTAN_TESTS_UNIT_CLI_MODEL_FILMS_FOLDER_H_

#include <gtest/gtest.h>

#include <string>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/data/formats/batch.h"
#include "capstan/model/layout.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {

// A checkpoint of a factorization machine over user, item, seen (a weighted mean of items) and tags
// (a sum of items), as it begins.
class FilmsFolder {
 public:
  FilmsFolder() {
    v1::JobSpec job = SpecOfFeatures("fm", 0, 2, 2);
    job.set_job("films");
    job.set_partition_count(1);
    job.mutable_model()->set_embedding_stddev(0.5f);
    job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    job.mutable_sparse_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    for (v1::TableSettings& table : *job.mutable_table_settings()) {
      table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    }
    EXPECT_EQ(LayOutModel(job), absl::OkStatus());
    const auto folder = *OpenObjectStore(folder_.path());
    const auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{0});
    v1::Manifest manifest;
    manifest.set_id("1-a");
    *manifest.mutable_job() = job;
    *manifest.add_files() =
        PutPartial(*folder, store->partition(), EncodePartition(*store, {.partition_count = 1}), 0);
    EXPECT_EQ(WriteManifest(*folder, manifest), absl::OkStatus());
  }

  const std::string& path() const { return folder_.path(); }

 private:
  const TestFolder folder_;
};

// Two records of that job, of one user: the first has no tags, the second has seen nothing.
inline Batch TwoViewers() {
  Batch batch;
  batch.labels = {0, 0};
  batch.offsets = {0, 0, 0};
  batch.features = {{.offsets = {0, 1, 2}, .keys = {7, 7}, .weights = {}},
                    {.offsets = {0, 1, 2}, .keys = {5, 6}, .weights = {}},
                    {.offsets = {0, 2, 2}, .keys = {5, 9}, .weights = {1, 3}},
                    {.offsets = {0, 0, 2}, .keys = {6, 6}, .weights = {}}};
  return batch;
}

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_MODEL_FILMS_FOLDER_H_
