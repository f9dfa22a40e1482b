#include "cli/model/weights_alone.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan::cli {
namespace {

std::vector<float> RowsOf(const PartitionStore& store, const std::vector<uint64_t>& keys) {
  std::vector<float> rows(keys.size() * store.tables()[0]->dim());
  store.tables()[0]->Pull(keys, rows.data());
  return rows;
}

TEST(WeightsAloneTest, HasTheBitsOfAPartitionWithoutItsSlots) {
  const v1::JobSpec job = SmallJob();
  std::unique_ptr<PartitionStore> trained = SmallPartition(5000);
  // Three that are pushed, a candidate, and one that nobody has met.
  const std::vector<uint64_t> keys = {1, 1001, 4'999'001, 77, 12345};
  const std::vector<float> rows = RowsOf(*trained, keys);
  const Block block = trained->blocks().blocks()[0];
  const auto dense = trained->blocks().Weights(block.id);
  const std::vector<float> tensor(dense.begin(), dense.end());
  const size_t bytes = trained->memory_bytes();
  ASSERT_EQ(trained->tables()[0]->slot_count(), 5u) << "two moments a weight, and a count";

  const auto weights = WeightsAlone(std::move(trained), job, LayoutOf(job));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(RowsOf(**weights, keys), rows);
  EXPECT_THAT((*weights)->blocks().Weights(block.id), testing::ElementsAreArray(tensor));
  EXPECT_EQ((*weights)->tables()[0]->slot_count(), 0u);
  EXPECT_EQ((*weights)->blocks().State(block.id).size(), block.length);
  EXPECT_LT((*weights)->memory_bytes(), bytes);
}

TEST(WeightsAloneTest, RowsThatHaveExpiredStayInitial) {
  v1::JobSpec job = SmallJob();
  job.mutable_tables(0)->set_expire_after_examples(100);
  job.mutable_tables(0)->set_admission_count(1);
  auto trained = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{1});
  const auto push = [&trained](std::vector<uint64_t> keys, uint64_t progress) {
    const std::vector<float> values(keys.size() * 2, 1.5f);
    const RowGradients gradient = {.keys = keys, .values = values, .pulled = {}};
    trained->tables()[0]->Apply({&gradient, 1}, {.progress_examples = progress});
  };
  const std::vector<uint64_t> keys = {1, 2};
  const std::vector<float> initial = RowsOf(*trained, keys);
  push({1}, 0);
  push({2}, 10'000);
  const std::vector<float> rows = RowsOf(*trained, keys);
  ASSERT_EQ(rows[0], initial[0]);
  ASSERT_NE(rows[2], initial[2]);
  const auto weights = WeightsAlone(std::move(trained), job, LayoutOf(job));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(RowsOf(**weights, keys), rows);
}

}  // namespace
}  // namespace capstan::cli
