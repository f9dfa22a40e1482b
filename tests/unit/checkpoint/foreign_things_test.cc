// What is not Capstan's is neither listed as a checkpoint nor deleted, on a disk and elsewhere.

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/checkpoint/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/strangers_folder.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// How a store is opened, which may lie in a folder of the test's own.
class ForeignThingsTest : public testing::TestWithParam<
                              std::function<std::unique_ptr<ObjectStore>(const std::string&)>> {
 protected:
  // A checkpoint of one step and two partitions.
  void Write(const std::string& id) {
    v1::Manifest manifest;
    manifest.set_id(id);
    *manifest.mutable_job() = SmallJob();
    for (int32_t i : {0, 1}) {
      const std::string name = PartitionFileName(PartitionIndex{i});
      ASSERT_TRUE(store_->Put(absl::StrCat(id, "/", name), "bytes").ok());
      v1::SavedFile& file = *manifest.add_files();
      file.set_partition(static_cast<uint32_t>(i));
      file.set_name(name);
      file.set_bytes(5);
    }
    ASSERT_TRUE(store_->Put(id + "/MANIFEST.json", *ManifestText(manifest)).ok());
  }

  const TestFolder folder_;
  const std::unique_ptr<ObjectStore> store_ = GetParam()(folder_.path());
};

INSTANTIATE_TEST_SUITE_P(Memory, ForeignThingsTest, testing::Values([](const std::string&) {
                           return MakeMemoryObjectStore();
                         }));
INSTANTIATE_TEST_SUITE_P(Disk, ForeignThingsTest, testing::Values([](const std::string& folder) {
                           return *OpenObjectStore(folder);
                         }));

TEST_P(ForeignThingsTest, AreNamedAndAreNoCheckpoints) {
  PutStrangersThings(*store_);
  const auto folder = ReadCheckpointFolder(*store_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_THAT(folder->checkpoints, IsEmpty());
  for (const char* name : {"photos", "thesis", "state", "checkpoints", "notes.txt", "2025-backup",
                           "308-a", "100-a=b"}) {
    EXPECT_TRUE(std::any_of(folder->foreign.begin(), folder->foreign.end(),
                            [&](const ForeignEntry& entry) { return entry.name == name; }))
        << name;
  }
}

TEST_P(ForeignThingsTest, AreNotDeletedWhateverIsAskedFor) {
  PutStrangersThings(*store_);
  Write("000000000009-a");
  Write("000000000010-b");
  const auto list = ListCheckpoints(*store_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(CheckpointsToPrune(*list, 1, {}), ElementsAre("000000000009-a"));
  const std::vector<ObjectInfo> objects = *store_->List("");
  for (const ObjectInfo& object : objects) {
    (void)DeleteCheckpoint(*store_, object.key.substr(0, object.key.find('/')));
  }
  ExpectStrangersThings(*store_);
  EXPECT_THAT(*ListCheckpoints(*store_), IsEmpty());
}

TEST_P(ForeignThingsTest, InACheckpointKeepItFromBeingDeletedButNotFromBeingUsed) {
  Write("000000000009-a");
  Write("000000000010-b");
  ASSERT_TRUE(store_->Put("000000000009-a/notes.txt", "the best so far").ok());
  const auto list = ListCheckpoints(*store_);
  ASSERT_EQ(list->size(), 2u);
  EXPECT_TRUE((*list)[0].status.ok()) << (*list)[0].status;
  EXPECT_EQ((*list)[0].foreign, "notes.txt");
  EXPECT_THAT(CheckpointsToPrune(*list, 1, {}), IsEmpty());
  EXPECT_TRUE(absl::IsFailedPrecondition(DeleteCheckpoint(*store_, "000000000009-a")));
  EXPECT_EQ(store_->List("000000000009-a/")->size(), 4u);
}

TEST_P(ForeignThingsTest, WhatIsBeingWrittenIsGivenUpBeforeItsObjectsAreDeleted) {
  ASSERT_TRUE(store_->Put("000000000009-a/partition-0000.capstan", "bytes").ok());
  ASSERT_EQ(DeleteUnfinished(*store_, "000000000009-a"), absl::OkStatus());
  EXPECT_THAT(*store_->List(""), ElementsAre(ObjectInfo{"000000000009-a/MANIFEST.json", 0}));
  ASSERT_EQ(DeleteUnfinished(*store_, "000000000009-a"), absl::OkStatus());
  EXPECT_THAT(*store_->List(""), IsEmpty());
  Write("000000000010-b");
  EXPECT_TRUE(absl::IsAlreadyExists(DeleteUnfinished(*store_, "000000000010-b")));
  EXPECT_EQ(store_->List("000000000010-b/")->size(), 3u);
}

}  // namespace
}  // namespace capstan
