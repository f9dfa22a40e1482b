#include "capstan/store/round_sum.h"

#include <random>

#include "capstan/store/dense_blocks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

constexpr size_t kDim = 3;
constexpr TableId kTable{1};

// Some lanes' gradients of one round, with keys that several hold and that occur twice in one, and
// the weights of full and of short batches.
struct Lane {
  std::vector<uint64_t> keys;
  std::vector<float> values;
  float weight = 1;

  RowGradients rows() const {
    return {.keys = keys, .values = values, .pulled = {}, .weight = weight};
  }
};

std::vector<Lane> LanesOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 100);
  std::vector<Lane> lanes(5);
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].weight = i % 2 == 0 ? 1 : 0.375f;
    for (int k = 0; k < 12; ++k) lanes[i].keys.push_back(random() % 9);
    for (size_t v = 0; v < lanes[i].keys.size() * kDim; ++v)
      lanes[i].values.push_back(normal(random));
  }
  return lanes;
}

// The table after one update in which the first `ahead` lanes have been added before.
std::unique_ptr<Table> After(const std::vector<Lane>& lanes, size_t ahead, v1::TableSpec spec) {
  std::unique_ptr<Table> table = MakeTable(spec);
  RoundSum sum;
  for (size_t i = 0; i < ahead; ++i) sum.AddRows(kTable, kDim, lanes[i].rows());
  std::vector<RowGradients> gradients;
  if (const auto rows = sum.rows(kTable)) gradients.push_back(*rows);
  for (size_t i = ahead; i < lanes.size(); ++i) gradients.push_back(lanes[i].rows());
  table->Apply(gradients, {.scale = 1.0f / 3});
  return table;
}

using Rows = std::vector<std::pair<uint64_t, std::vector<float>>>;
Rows RowsOf(const Table& table) {
  Rows rows;
  table.ForEachRow([&](const RowState& row) {
    rows.push_back({row.key, std::vector<float>(row.state.begin(), row.state.end())});
    rows.back().second.push_back(static_cast<float>(row.frequency));
  });
  return rows;
}

TEST(RoundSumTest, RowsComeOutBitEqualHoweverManyLanesWereAddedAhead) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Lane> lanes = LanesOf(seed);
    const v1::TableSpec spec = WithOptimizer(SgdTable(kDim), v1::OPTIMIZER_KIND_ADAM);
    const Rows none_ahead = RowsOf(*After(lanes, 0, spec));
    ASSERT_FALSE(none_ahead.empty());
    for (size_t ahead = 1; ahead <= lanes.size(); ++ahead) {
      EXPECT_EQ(RowsOf(*After(lanes, ahead, spec)), none_ahead) << ahead << " lanes of " << seed;
    }
  }
}

TEST(RoundSumTest, AKeyIsAdmittedByAllTheGradientsThatHeldIt) {
  v1::TableSpec spec = SgdTable(kDim);
  spec.set_admission_count(3);
  const std::vector<float> ones(kDim, 1);
  const std::vector<Lane> lanes(3, Lane{.keys = {7}, .values = ones});
  for (size_t ahead = 0; ahead <= lanes.size(); ++ahead) {
    EXPECT_EQ(After(lanes, ahead, spec)->row_count(), 1u) << ahead;
    EXPECT_EQ(After({lanes[0], lanes[1]}, std::min<size_t>(ahead, 2), spec)->row_count(), 0u);
  }
}

TEST(RoundSumTest, BlocksComeOutBitEqualHoweverManyLanesWereAddedAhead) {
  v1::JobSpec job;
  job.set_partition_count(1);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(kDim * 12);
  tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAM);
  tensor.mutable_optimizer()->set_learning_rate(0.1f);
  tensor.mutable_optimizer()->set_beta1(0.9f);
  tensor.mutable_optimizer()->set_beta2(0.999f);
  tensor.mutable_optimizer()->set_epsilon(1e-8f);
  const DenseLayout layout = *DenseLayout::Create(job.tensors(), 1);
  const std::vector<Lane> lanes = LanesOf(1);
  const auto after = [&](size_t ahead) {
    const auto blocks = *DenseBlocks::Create(job, layout, PartitionIndex{0});
    const BlockId id = blocks->blocks()[0].id;
    RoundSum sum;
    std::vector<BlockGradient> gradients;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const BlockGradient gradient{
          .values = lanes[i].values, .pulled = {}, .weight = lanes[i].weight};
      if (i < ahead) {
        sum.AddBlock(id, gradient);
      } else {
        gradients.push_back(gradient);
      }
    }
    if (const auto block = sum.block(id)) gradients.insert(gradients.begin(), *block);
    blocks->Apply(id, gradients, {.scale = 1.0f / 3});
    const absl::Span<const float> state = blocks->State(id);
    return std::vector<float>(state.begin(), state.end());
  };
  for (size_t ahead = 1; ahead <= lanes.size(); ++ahead) EXPECT_EQ(after(ahead), after(0)) << ahead;
}

TEST(RoundSumTest, BeginsTheNextRoundWithNothing) {
  RoundSum sum;
  const std::vector<Lane> lanes = LanesOf(3);
  sum.AddRows(kTable, kDim, lanes[0].rows());
  sum.AddBlock(BlockId{4}, {.values = lanes[0].values, .pulled = {}});
  EXPECT_GT(sum.memory_bytes(), 0u);
  sum.ClearBlocks();
  EXPECT_FALSE(sum.block(BlockId{4}).has_value());
  EXPECT_TRUE(sum.rows(kTable).has_value());
  sum.ClearRows();
  EXPECT_FALSE(sum.rows(kTable).has_value());
  EXPECT_FALSE(sum.rows(TableId{2}).has_value());
}

}  // namespace
}  // namespace capstan
