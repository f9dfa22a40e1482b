#include "capstan/checkpoint/checkpoint_list.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/checkpoint/compact.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ListedCheckpoint Whole(const std::string& id, uint64_t step, const std::string& parent = "") {
  ListedCheckpoint checkpoint{.id = id, .status = {}, .manifest = {}};
  checkpoint.manifest.set_step(step);
  checkpoint.manifest.set_parent(parent);
  return checkpoint;
}

ListedCheckpoint Without(const std::string& id, absl::Status status) {
  return {.id = id, .status = std::move(status), .manifest = {}};
}

TEST(CheckpointsToPruneTest, KeepsTheNewestAndTheExempt) {
  const std::vector<ListedCheckpoint> list = {Whole("1-a", 1), Whole("2-b", 2), Whole("3-c", 3),
                                              Whole("4-d", 4)};
  EXPECT_THAT(CheckpointsToPrune(list, 2, {"1-a"}), ElementsAre("2-b"));
  EXPECT_THAT(CheckpointsToPrune(list, 9, {}), IsEmpty());
}

TEST(CheckpointsToPruneTest, KeepsWhatAChainNeeds) {
  const std::vector<ListedCheckpoint> list = {Whole("1-a", 1), Whole("2-b", 2, "1-a"),
                                              Whole("3-c", 3), Whole("4-d", 4, "2-b")};
  EXPECT_THAT(CheckpointsToPrune(list, 1, {}), ElementsAre("3-c"));
}

TEST(CheckpointsToPruneTest, NamesTheNewestFirstSoThatNoParentGoesBeforeWhatBuildsOnIt) {
  const std::vector<ListedCheckpoint> list = {Without("9-half", absl::NotFoundError("")),
                                              Whole("1-a", 1), Whole("2-b", 2, "1-a"),
                                              Whole("3-c", 3, "2-b"), Whole("4-d", 4)};
  EXPECT_THAT(CheckpointsToPrune(list, 1, {}), ElementsAre("3-c", "2-b", "1-a", "9-half"));
}

TEST(CheckpointsToPruneTest, TakesWhatHasNoManifestForGarbageAndKeepsTheDamagedForPeople) {
  const std::vector<ListedCheckpoint> list = {
      Without("1-a", absl::NotFoundError("")), Without("2-b", absl::DataLossError("")),
      Without("3-running", absl::NotFoundError("")), Whole("4-d", 4)};
  EXPECT_THAT(CheckpointsToPrune(list, 1, {"3-running"}), ElementsAre("1-a"));
}

class CheckpointFolderTest : public testing::Test {
 protected:
  void Write(const std::string& id, uint64_t step, const std::string& parent, bool commit = true,
             uint64_t timeline = 1) {
    const auto folder = *OpenObjectStore(absl::StrCat(root_, "/", id));
    v1::Manifest manifest;
    manifest.set_id(id);
    manifest.set_step(step);
    manifest.set_timeline(timeline);
    manifest.set_parent(parent);
    *manifest.mutable_job() = SmallJob();
    const PartitionFileOptions options = {.partition_count = 2, .parent = parent};
    for (PartitionStore* store : {first_.get(), second_.get()}) {
      *manifest.add_files() =
          PutPartial(*folder, store->partition(), EncodePartition(*store, options), 0);
      manifest.mutable_files()->rbegin()->set_delta(!parent.empty());
      store->Mark(/*changes_only=*/false);
      store->SettleMark(/*safe=*/true);
    }
    if (!commit) return;
    ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  }

  const TestFolder temporary_;
  const std::string root_ = temporary_.path();
  std::unique_ptr<PartitionStore> first_ =
      *PartitionStore::Create(SmallJob(), LayoutOf(SmallJob()), PartitionIndex{0});
  std::unique_ptr<PartitionStore> second_ = SmallPartition(/*rows=*/20);
};

TEST_F(CheckpointFolderTest, IsListedByStepWithUnfinishedOnesFirst) {
  Write("9-a", 9, "");
  Write("10-b", 10, "9-a");
  Write("11-c", 11, "", /*commit=*/false);
  const auto list = ListCheckpoints(**OpenObjectStore(root_));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].id, "11-c");
  EXPECT_TRUE(absl::IsNotFound((*list)[0].status));
  EXPECT_EQ((*list)[1].id, "9-a");
  EXPECT_EQ((*list)[2].manifest.parent(), "9-a");
  EXPECT_GT((*list)[1].bytes, (*list)[2].bytes);
}

TEST_F(CheckpointFolderTest, AStoreThatRefusesToBeReadSaysNothingOfWhatStandsThere) {
  Write("9-a", 9, "");
  const auto folder = *OpenObjectStore(root_);
  FaultyObjectStore store(*folder);
  for (const absl::Status& refusal :
       {absl::FailedPreconditionError("certificate"), absl::InvalidArgumentError("HTTP 400"),
        absl::PermissionDeniedError("keys"), absl::UnauthenticatedError("token")}) {
    store.SetPlan([refusal](const StoreCall& call) -> StoreFault {
      if (call.kind != StoreCall::Kind::kRead) return {};
      return {.status = refusal};
    });
    EXPECT_FALSE(ListCheckpoints(store).ok()) << refusal;
  }
  store.Heal();
  EXPECT_TRUE(ListCheckpoints(store)->front().status.ok());
}

TEST_F(CheckpointFolderTest, WhatAJobThatWasStartedOverHasSavedIsNewerThanWhatItHadBefore) {
  Write("900-a", 900, "", /*commit=*/true, /*timeline=*/1);
  Write("10-b", 10, "", /*commit=*/true, /*timeline=*/2);
  const auto list = ListCheckpoints(**OpenObjectStore(root_));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->back().id, "10-b");
  EXPECT_THAT(CheckpointsToPrune(*list, 1, {}), ElementsAre("900-a"));
}

TEST_F(CheckpointFolderTest, DeletingLeavesNothing) {
  Write("9-a", 9, "");
  Write("10-b", 10, "");
  const auto folder = *OpenObjectStore(root_);
  ASSERT_TRUE(DeleteCheckpoint(*folder, "9-a").ok());
  ASSERT_EQ(folder->List("9-a/")->size(), 0u);
  EXPECT_EQ(ListCheckpoints(*folder)->size(), 1u);
}

TEST_F(CheckpointFolderTest, WhatLacksAFileOrAParentIsDamaged) {
  Write("9-a", 9, "");
  Write("10-b", 10, "9-a");
  Write("11-c", 11, "10-b");
  Write("12-d", 12, "");
  const auto folder = *OpenObjectStore(root_);
  ASSERT_TRUE(folder->Delete("9-a/partition-0001.capstan").ok());
  ASSERT_TRUE(folder->Put("12-d/partition-0000.capstan", "half").ok());
  const auto list = ListCheckpoints(*folder);
  ASSERT_EQ(list->size(), 4u);
  for (const ListedCheckpoint& checkpoint : *list) {
    EXPECT_TRUE(absl::IsDataLoss(checkpoint.status)) << checkpoint.id << checkpoint.status;
  }
}

TEST_F(CheckpointFolderTest, WhatIsItsOwnParentOrAnAncestorOfItselfIsDamaged) {
  Write("13-e", 13, "");
  Write("9-a", 9, "9-a");
  Write("10-b", 10, "11-c");
  Write("11-c", 11, "10-b");
  Write("12-d", 12, "11-c");  // It builds on the circle, and is not of it.
  const auto list = ListCheckpoints(**OpenObjectStore(root_));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 5u);
  for (const ListedCheckpoint& checkpoint : *list) {
    if (checkpoint.id == "13-e") {
      EXPECT_TRUE(checkpoint.status.ok()) << checkpoint.status;
      continue;
    }
    EXPECT_TRUE(absl::IsDataLoss(checkpoint.status)) << checkpoint.id << checkpoint.status;
    EXPECT_THAT(std::string(checkpoint.status.message()),
                HasSubstr(checkpoint.id == "12-d" ? "a chain of more than"
                                                  : "its parents lead back to it"));
  }
}

TEST_F(CheckpointFolderTest, TheLongestChainThatAJobMayMakeCanBeReadAndNoneIsLonger) {
  std::string parent;
  const auto write = [&](uint64_t step) {
    const std::string id = absl::StrCat(step, "-a");
    Write(id, step, parent);
    parent = id;
  };
  for (uint64_t step = 1; step <= CheckpointReader::kMaxChain; ++step) write(step);
  const auto folder = *OpenObjectStore(root_);
  EXPECT_TRUE(ListCheckpoints(*folder)->back().status.ok());
  EXPECT_TRUE(CheckpointReader::Open(absl::StrCat(root_, "/", parent)).ok());
  constexpr uint64_t kTooLong = CheckpointReader::kMaxChain + 1;
  write(kTooLong);
  EXPECT_TRUE(absl::IsDataLoss(CheckpointReader::Open(absl::StrCat(root_, "/", parent)).status()));
  int damaged = 0;
  const auto list = ListCheckpoints(*folder);
  ASSERT_TRUE(list.ok()) << list.status();
  for (const ListedCheckpoint& checkpoint : *list) {
    if (checkpoint.status.ok()) continue;
    ++damaged;
    EXPECT_EQ(checkpoint.id, parent);
    EXPECT_TRUE(absl::IsDataLoss(checkpoint.status)) << checkpoint.status;
  }
  EXPECT_EQ(damaged, 1);
}

TEST_F(CheckpointFolderTest, WhatHasBeenGivenUpCannotBeCompletedAnyMore) {
  Write("9-a", 9, "", /*commit=*/false);
  const auto folder = *OpenObjectStore(root_);
  ASSERT_TRUE(GiveUpCheckpoint(*folder, "9-a").ok());
  EXPECT_TRUE(absl::IsNotFound((*ListCheckpoints(*folder))[0].status));
  ASSERT_TRUE(DeleteCheckpoint(*folder, "9-a").ok());
  EXPECT_THAT(*folder->List(""), ElementsAre(ObjectInfo{"9-a/MANIFEST.json", 0}));
  v1::Manifest late;
  late.mutable_job()->set_partition_count(1);
  late.add_files()->set_name("partition-0000.capstan");
  EXPECT_TRUE(absl::IsAlreadyExists(WriteManifest(**OpenObjectStore(root_ + "/9-a"), late)));
  ASSERT_TRUE(DeleteCheckpoint(*folder, "9-a").ok());
  EXPECT_THAT(*folder->List(""), IsEmpty());
}

TEST_F(CheckpointFolderTest, WhatIsCompleteIsNotGivenUp) {
  Write("9-a", 9, "");
  const auto folder = *OpenObjectStore(root_);
  EXPECT_TRUE(absl::IsAlreadyExists(GiveUpCheckpoint(*folder, "9-a")));
  EXPECT_TRUE((*ListCheckpoints(*folder))[0].status.ok());
}

TEST_F(CheckpointFolderTest, ACompactedChainIsTheSameCheckpointWithoutItsParents) {
  Write("9-a", 9, "");
  const std::vector<uint64_t> keys = {1001};
  const std::vector<float> values(2, 0.5f);
  RowGradients gradient{.keys = keys, .values = values, .pulled = {}};
  second_->FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 5000});
  Write("10-b", 10, "9-a");
  const auto compacted = CompactCheckpoint(absl::StrCat(root_, "/10-b"), "10-b-full");
  ASSERT_TRUE(compacted.ok()) << compacted.status();
  EXPECT_EQ(compacted->step(), 10u);
  std::filesystem::remove_all(absl::StrCat(root_, "/9-a"));
  const auto reader = CheckpointReader::Open(absl::StrCat(root_, "/10-b-full"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto decoded = reader->Read(PartitionIndex{1}, SmallJob(), LayoutOf(SmallJob()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const PartitionFileOptions options = {.partition_count = 2};
  EXPECT_EQ(EncodePartition(*decoded->store, options), EncodePartition(*second_, options));
  EXPECT_TRUE(absl::IsAlreadyExists(
      CompactCheckpoint(absl::StrCat(root_, "/10-b-full"), "10-b-full").status()));
}

TEST_F(CheckpointFolderTest, CompactingOntoACheckpointOfTheChainLeavesTheChainAsItWas) {
  Write("9-a", 9, "");
  Write("10-b", 10, "9-a");
  for (const std::string id : {"10-b", "9-a"}) {
    const absl::Status refused = CompactCheckpoint(root_ + "/10-b", id).status();
    EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("/" + id + ": ")) << refused;
  }
  for (const std::string id : {"9-a", "10-b"}) {
    const auto reader = CheckpointReader::Open(absl::StrCat(root_, "/", id));
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (const PartitionIndex partition : {PartitionIndex{0}, PartitionIndex{1}}) {
      const auto decoded = reader->Read(partition, SmallJob(), LayoutOf(SmallJob()));
      EXPECT_TRUE(decoded.ok()) << id << ": " << decoded.status();
    }
  }
}

TEST_F(CheckpointFolderTest, ACompactionThatWasBrokenOffCanBeRepeated) {
  Write("9-a", 9, "");
  ASSERT_TRUE((*OpenObjectStore(root_))->Put("9-a-full/partition-0000.capstan", "half").ok());
  const auto compacted = CompactCheckpoint(absl::StrCat(root_, "/9-a"), "9-a-full");
  EXPECT_TRUE(compacted.ok()) << compacted.status();
}

}  // namespace
}  // namespace capstan
