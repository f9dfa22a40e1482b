// Random pushes against the plainest table there can be: a map of single-row optimizers.
#include <cstring>
#include <map>

#include "capstan/base/hash.h"
#include "capstan/optim/optimizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

constexpr uint32_t kDim = 5;
constexpr uint64_t kKeys = 300;

class PlainTable {
 public:
  explicit PlainTable(const v1::TableSpec& spec)
      : optimizer_(*MakeOptimizer(spec.optimizer())), rate_(spec.optimizer().learning_rate()) {}

  void Apply(const std::vector<uint64_t>& keys, const std::vector<float>& values,
             const Table& initial) {
    std::map<uint64_t, std::vector<float>> sums;
    for (size_t i = 0; i < keys.size(); ++i) {
      std::vector<float>& sum = sums.try_emplace(keys[i], kDim).first->second;
      for (uint32_t c = 0; c < kDim; ++c) sum[c] += values[i * kDim + c];
    }
    for (const auto& [key, gradient] : sums) {
      auto [row, is_new] = rows_.try_emplace(key);
      if (is_new) {
        row->second.weights = PullRows(initial, {key});
        row->second.slots.resize(optimizer_->SlotCount(kDim));
        optimizer_->Initialize(row->second.view(), rate_);
      }
      optimizer_->Apply(row->second.view(), gradient.data(), rate_);
    }
  }

  std::vector<float> Pull(uint64_t key, const Table& initial) const {
    const auto row = rows_.find(key);
    return row == rows_.end() ? PullRows(initial, {key}) : row->second.weights;
  }

  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    Parameters view() { return {weights.data(), slots.data(), kDim}; }
    std::vector<float> weights;
    std::vector<float> slots;
  };
  std::unique_ptr<Optimizer> optimizer_;
  float rate_;
  std::map<uint64_t, Row> rows_;
};

class TableOracleTest : public testing::TestWithParam<v1::OptimizerKind> {};

TEST_P(TableOracleTest, HoldsThePlainTablesWeightsAfterAnyPushes) {
  const v1::TableSpec spec =
      WithOptimizer(WithInitializer(SgdTable(kDim), v1::INITIALIZER_KIND_NORMAL, 0.1f), GetParam());
  const auto table = MakeTable(spec);
  const auto initial = MakeTable(spec);  // Stays empty.
  PlainTable plain(spec);
  uint64_t draws = 0;
  const auto draw = [&] { return Draw(2026, GetParam(), draws++); };
  for (int push = 0; push < 200; ++push) {
    std::vector<uint64_t> keys(draw() % 60);
    for (uint64_t& key : keys) key = Mix64(draw() % kKeys);
    std::vector<float> values(keys.size() * kDim);
    for (float& value : values) value = static_cast<float>(Unit(draw()) - 0.5);
    Push(*table, keys, values);
    plain.Apply(keys, values, *initial);
  }
  EXPECT_EQ(table->row_count(), plain.size());
  for (uint64_t i = 0; i < kKeys + 20; ++i) {
    ASSERT_EQ(PullRows(*table, {Mix64(i)}), plain.Pull(Mix64(i), *initial)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, TableOracleTest,
                         testing::Values(v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_MOMENTUM,
                                         v1::OPTIMIZER_KIND_ADAGRAD,
                                         v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD,
                                         v1::OPTIMIZER_KIND_ADAM, v1::OPTIMIZER_KIND_RMSPROP,
                                         v1::OPTIMIZER_KIND_FTRL),
                         [](const auto& info) { return v1::OptimizerKind_Name(info.param); });

}  // namespace
}  // namespace capstan
