#include "capstan/checkpoint/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/objectstore/object_store.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::HasSubstr;

class CompactTest : public testing::Test {
 protected:
  std::string Uri(const std::string& id) const { return temporary_.Path(id); }
  absl::StatusOr<v1::Manifest> ManifestOf(const std::string& id) const {
    return ReadManifest(**OpenObjectStore(Uri(id)));
  }
  // A whole checkpoint of both partitions.
  void Write(const std::string& id) const {
    const auto folder = *OpenObjectStore(Uri(id));
    v1::Manifest manifest = SmallManifest();
    manifest.set_id(id);
    manifest.clear_parent();
    manifest.clear_files();
    const auto first = *PartitionStore::Create(SmallJob(), LayoutOf(SmallJob()), PartitionIndex{0});
    *manifest.add_files() =
        PutPartial(*folder, PartitionIndex{0}, EncodePartition(*first, {.partition_count = 2}));
    *manifest.add_files() = PutPartial(*folder, PartitionIndex{1}, EncodedSmallPartition(), 3);
    ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  }

  const TestFolder temporary_;
};

TEST_F(CompactTest, IsRefusedUnderANameThatNoCheckpointHas) {
  EXPECT_EQ(CompactCheckpoint("nowhere/9-a", "best").status().message(),
            "the id \"best\" is no name of a checkpoint; expected <step>-<id>");
}

TEST_F(CompactTest, OnlyTheFilesAndTheNameAreOthers) {
  Write("200-b");
  const auto compacted = CompactCheckpoint(Uri("200-b"), "200-full");
  ASSERT_TRUE(compacted.ok()) << compacted.status();
  v1::Manifest expected = *ManifestOf("200-b");
  v1::Manifest written = *ManifestOf("200-full");
  ASSERT_EQ(written.files_size(), 2);
  EXPECT_EQ(written.files(0).rows() + written.files(1).rows(), 3u);
  EXPECT_EQ(written.id(), "200-full");
  expected.set_id("200-full");
  expected.clear_files();
  written.clear_files();
  expected.set_format(written.format());  // Several files share an object there.
  EXPECT_EQ(written.DebugString(), expected.DebugString());
}

TEST_F(CompactTest, WhatIsNoCheckpointIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(CompactCheckpoint(Uri("200-b"), "200-full").status()));
  EXPECT_FALSE(std::filesystem::exists(Uri("200-full"))) << "nothing is written for it";
}

TEST_F(CompactTest, ADamagedCheckpointMakesNoneThatSeemsWhole) {
  Write("200-b");
  std::fstream(Uri("200-b") + "/partition-0001.capstan",
               std::ios::in | std::ios::out | std::ios::binary)
      .seekp(150)
      .put('?');
  const absl::Status damaged = CompactCheckpoint(Uri("200-b"), "200-full").status();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("partition-0001.capstan"));
  EXPECT_TRUE(absl::IsNotFound(ManifestOf("200-full").status()));
}

}  // namespace
}  // namespace capstan
