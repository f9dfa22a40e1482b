// Checkpoints of a small job in a folder of their own, for tests of what reads them.
#ifndef CAPSTAN_TESTS_UNIT_CLI_MODEL_SMALL_CHECKPOINTS_H_
#define CAPSTAN_TESTS_UNIT_CLI_MODEL_SMALL_CHECKPOINTS_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "capstan/checkpoint/checkpoint.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan::cli {

// The job of small_partition.h, with a checkpoint "1-a".
class SmallCheckpoints : public testing::Test {
 protected:
  SmallCheckpoints() { Write("1-a"); }

  std::string Uri(const std::string& id) const { return folder_.Path(id); }

  void Write(const std::string& id) {
    const auto folder = *OpenObjectStore(Uri(id));
    v1::Manifest manifest;
    manifest.set_id(id);
    *manifest.mutable_job() = SmallJob();
    manifest.mutable_job()->mutable_data()->MergeFrom(data_);
    for (PartitionStore* store : {first_.get(), second_.get()}) {
      *manifest.add_files() = PutPartial(*folder, store->partition(),
                                         EncodePartition(*store, {.partition_count = 2}), 0);
    }
    ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  }

  const TestFolder folder_;
  v1::DataSpec data_;
  std::unique_ptr<PartitionStore> first_ =
      *PartitionStore::Create(SmallJob(), LayoutOf(SmallJob()), PartitionIndex{0});
  std::unique_ptr<PartitionStore> second_ = SmallPartition(/*rows=*/20);
};

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_MODEL_SMALL_CHECKPOINTS_H_
