// A copy of a store from its moment until it is settled: what it is to hold, and what is kept.
#include "ps/partition/store_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "capstan/placement/dense_layout.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

class StoreCopyTest : public testing::Test {
 protected:
  // A table of one column.
  static std::unique_ptr<PartitionStore> MakeStore() {
    v1::JobSpec job;
    job.set_partition_count(1);
    AddOneColumn(job);
    const DenseLayout layout = *DenseLayout::Create(job.tensors(), job.partition_count());
    return *PartitionStore::Create(job, layout, PartitionIndex{0});
  }

  // Changes the key's row.
  static void Push(PartitionStore& store, uint64_t key) {
    const float value = -1;
    const RowGradients gradient = {.keys = {&key, 1}, .values = {&value, 1}, .pulled = {}};
    store.tables()[0]->Apply({&gradient, 1}, {});
  }
  static void PushCounted(PartitionStore& store, StoreCopy& copy, uint64_t key) {
    Push(store, key);
    copy.CountKept();
  }

  StoreCopyTest() { copy_.Reset(store_.get(), /*base=*/""); }

  KeptBytes kept_;
  std::unique_ptr<PartitionStore> store_ = MakeStore();
  StoreCopy copy_{kept_};
};

TEST_F(StoreCopyTest, IsReadFromItsMomentUntilAllHasBeenRead) {
  EXPECT_FALSE(copy_.reading());
  copy_.Begin("");
  EXPECT_TRUE(copy_.reading());
  EXPECT_TRUE(copy_.End());
  EXPECT_FALSE(copy_.reading());
  EXPECT_FALSE(copy_.End()) << "it has been read before";
}

TEST_F(StoreCopyTest, IsSettledOnceAfterItHasBeenRead) {
  EXPECT_FALSE(copy_.Settle("1-a")) << "there is none";
  copy_.Begin("");
  EXPECT_FALSE(copy_.Settle("1-a")) << "it is being read";
  copy_.End();
  EXPECT_TRUE(copy_.Settle("1-a"));
  EXPECT_FALSE(copy_.Settle("1-a"));
}

TEST_F(StoreCopyTest, HoldsChangesAloneWhereTheyAreSinceTheLastCheckpointThatHoldsOne) {
  const auto copy_as = [this](const std::string& id, const std::string& parent) {
    const std::string changes_to = copy_.Begin(parent);
    copy_.End();
    copy_.Settle(id);
    return changes_to;
  };
  Push(*store_, /*key=*/3);
  EXPECT_EQ(copy_as("1-a", /*parent=*/""), "");
  EXPECT_EQ(copy_as("", /*parent=*/"1-a"), "1-a");
  EXPECT_EQ(copy_as("1-b", /*parent=*/"1-a"), "1-a") << "the one between has come to nothing";
  EXPECT_EQ(copy_as("1-c", /*parent=*/"1-a"), "") << "they are known to 1-b";
}

TEST_F(StoreCopyTest, MarksWhatHasChangedSinceTheLastCopyThatIsSafeAloneOnlyForACopyOfChanges) {
  const auto marked_rows = [this](const std::string& parent, const std::string& id) {
    copy_.Begin(parent);
    const size_t rows = store_->tables()[0]->MarkedRows().size();
    copy_.End();
    copy_.Settle(id);
    return rows;
  };
  Push(*store_, /*key=*/3);
  Push(*store_, /*key=*/4);
  EXPECT_EQ(marked_rows(/*parent=*/"", "1-a"), 2u);
  Push(*store_, /*key=*/4);
  EXPECT_EQ(marked_rows(/*parent=*/"1-a", ""), 1u);
  EXPECT_EQ(marked_rows(/*parent=*/"1-a", "1-b"), 1u) << "the one before has come to nothing";
  EXPECT_EQ(marked_rows(/*parent=*/"1-b", "1-c"), 0u);
  EXPECT_EQ(marked_rows(/*parent=*/"", "1-d"), 2u);
}

TEST_F(StoreCopyTest, ChangesOfAStoreThatWasReadAreKnownToItsCheckpointIfTheyAreTracked) {
  auto tracked = MakeStore(), untracked = MakeStore();
  tracked->TrackChanges();
  copy_.Reset(untracked.get(), /*base=*/"1-a");
  EXPECT_EQ(copy_.Begin("1-a"), "");
  copy_.Reset(tracked.get(), /*base=*/"1-a");
  EXPECT_EQ(copy_.Begin("1-a"), "1-a");
}

TEST_F(StoreCopyTest, WhatIsKeptCountsWhileItIsReadAndNotAfterwards) {
  Push(*store_, /*key=*/3);
  kept_.SetLimit(1);
  PushCounted(*store_, copy_, 3);
  EXPECT_EQ(kept_.bytes(), 0) << "nobody copies it";
  copy_.Begin("");
  EXPECT_FALSE(copy_.full());
  PushCounted(*store_, copy_, 3);
  EXPECT_EQ(kept_.bytes(), static_cast<int64_t>(store_->kept_bytes()));
  EXPECT_GT(kept_.bytes(), 0);
  EXPECT_TRUE(copy_.full());
  copy_.End();
  EXPECT_EQ(kept_.bytes(), 0);
  EXPECT_EQ(store_->kept_bytes(), 0u);
}

TEST_F(StoreCopyTest, TheShardIsFullForThoseAloneThatAreBeingRead) {
  const auto store = MakeStore();
  StoreCopy other(kept_);
  other.Reset(store.get(), /*base=*/"");
  Push(*store_, /*key=*/3);
  Push(*store, /*key=*/3);
  kept_.SetLimit(1);
  copy_.Begin("");
  PushCounted(*store_, copy_, 3);
  EXPECT_FALSE(other.full());
  other.Begin("");
  EXPECT_TRUE(other.full()) << "the limit is that of the shard";
  PushCounted(*store, other, 3);
  copy_.End();
  EXPECT_EQ(kept_.bytes(), static_cast<int64_t>(store->kept_bytes())) << "its own is left";
  EXPECT_GT(kept_.bytes(), 0);
}

TEST_F(StoreCopyTest, AnotherStoreGivesUpTheCopyOfTheOneBefore) {
  Push(*store_, /*key=*/3);
  copy_.Begin("");
  PushCounted(*store_, copy_, 3);
  EXPECT_GT(kept_.bytes(), 0);
  copy_.Reset(nullptr, /*base=*/"");
  EXPECT_EQ(kept_.bytes(), 0);
  EXPECT_FALSE(copy_.reading());
  EXPECT_FALSE(copy_.End());
  EXPECT_FALSE(copy_.Settle("1-a"));
}

}  // namespace
}  // namespace capstan::ps
