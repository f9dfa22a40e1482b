// Deltas: what they hold, and on top of what they are refused.
#include <cstdint>
#include <string>
#include <vector>

#include "capstan/checkpoint/partition_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::HasSubstr;

void Push(PartitionStore& store, const std::vector<uint64_t>& keys) {
  const std::vector<float> values(keys.size() * 2, 0.25f);
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  store.FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 4096});
}

// The store as a file, which is then taken for safe.
std::string Save(PartitionStore& store, const std::string& parent) {
  PartitionFileOptions options = {.partition_count = 2, .timeline = 5, .parent = parent};
  std::string file = EncodePartition(store, options);
  store.Mark(/*changes_only=*/false);
  store.SettleMark(/*safe=*/true);
  return file;
}

DecodedPartition Decoded(const std::string& file) {
  const v1::JobSpec job = SmallJob();
  return *DecodePartition(file, job, LayoutOf(job), PartitionIndex{1});
}

std::string Whole(PartitionStore& store) {
  return EncodePartition(store, {.partition_count = 2, .timeline = 5});
}

TEST(DeltaTest, MakesOfItsParentWhatTheStoreWas) {
  const auto store = SmallPartition(/*rows=*/500);
  DecodedPartition restored = Decoded(Save(*store, ""));
  Push(*store, {1001, 2001, 9});
  Push(*store, {9});
  const std::string delta = Save(*store, "100-a");
  EXPECT_LT(delta.size(), 800u) << "it holds three rows and no dense block";
  ASSERT_TRUE(ApplyDelta(delta, SmallJob(), "100-a", restored).ok());
  EXPECT_EQ(Whole(*restored.store), Whole(*store));
}

TEST(DeltaTest, ErasesWhatIsGone) {
  v1::JobSpec job = SmallJob();
  job.mutable_tables(0)->set_expire_after_examples(100);
  job.mutable_tables(0)->set_admission_count(1);
  const auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{1});
  Push(*store, {1, 2, 3});
  const std::string whole = Save(*store, "");
  const std::vector<uint64_t> key = {4};
  const std::vector<float> values(2, 1.0f);
  RowGradients gradient{.keys = key, .values = values, .pulled = {}};
  store->FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 9000});
  store->FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 9001});
  store->FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 9002});
  ASSERT_EQ(store->row_count(), 1u) << "the others have expired";
  DecodedPartition restored = *DecodePartition(whole, job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(ApplyDelta(Save(*store, "100-a"), job, "100-a", restored).ok());
  EXPECT_EQ(Whole(*restored.store), Whole(*store));
}

TEST(DeltaTest, IsRefusedOnTopOfAnythingButItsParent) {
  const auto store = SmallPartition();
  DecodedPartition whole = Decoded(Save(*store, ""));
  Push(*store, {1001});
  const std::string delta = Save(*store, "100-a");
  const absl::Status other = ApplyDelta(delta, SmallJob(), "200-b", whole);
  EXPECT_EQ(other.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(other.message()), HasSubstr("changes to 100-a"));
  const v1::JobSpec job = SmallJob();
  EXPECT_EQ(DecodePartition(delta, job, LayoutOf(job), PartitionIndex{1}).status().code(),
            absl::StatusCode::kDataLoss);
  // A parent of the right name and another content: the rows do not add up.
  const auto fewer = SmallPartition(/*rows=*/2);
  DecodedPartition wrong = Decoded(Save(*fewer, ""));
  EXPECT_EQ(ApplyDelta(delta, SmallJob(), "100-a", wrong).code(), absl::StatusCode::kDataLoss);
}

TEST(DeltaTest, FindsEveryFlippedBit) {
  const auto store = SmallPartition();
  const std::string whole = Save(*store, "");
  Push(*store, {1001});
  const std::string delta = Save(*store, "100-a");
  for (size_t i = 0; i < delta.size() * 8; ++i) {
    std::string damaged = delta;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    DecodedPartition restored = Decoded(whole);
    ASSERT_FALSE(ApplyDelta(damaged, SmallJob(), "100-a", restored).ok()) << "bit " << i;
  }
}

}  // namespace
}  // namespace capstan
