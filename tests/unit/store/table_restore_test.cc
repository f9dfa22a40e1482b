#include <algorithm>

#include "capstan/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

struct SavedRow {
  RowState row;
  std::vector<float> state;
};

// As a restore does it, rows in another order than they were created in.
std::unique_ptr<Table> Restored(const Table& table) {
  auto copy = MakeTable(table.spec());
  std::vector<SavedRow> rows;
  table.ForEachRow([&](const RowState& row) {
    rows.push_back({row, std::vector<float>(row.state.begin(), row.state.end())});
  });
  std::reverse(rows.begin(), rows.end());
  for (SavedRow& saved : rows) {
    saved.row.state = saved.state;
    EXPECT_TRUE(copy->RestoreRow(saved.row).ok());
  }
  table.ForEachCandidate(
      [&](const Candidate& candidate) { EXPECT_TRUE(copy->RestoreCandidate(candidate).ok()); });
  copy->RestoreProgress(table.progress_examples());
  return copy;
}

void TrainALittle(Table& table, uint64_t seed) {
  for (uint64_t push = 0; push < 40; ++push) {
    std::vector<uint64_t> keys(30);
    for (uint64_t i = 0; i < keys.size(); ++i) {
      const uint64_t draw = Draw(seed, push, i);
      keys[i] = draw % (draw % 2 == 0 ? 20 : 400);  // Some often, some seldom.
    }
    std::vector<float> values(keys.size() * table.dim());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(Unit(Draw(seed + 1, push, i)) - 0.5);
    }
    Push(table, keys, values, {.progress_examples = seed * 10'000 + push * 64});
  }
}

std::vector<float> Everything(const Table& table) {
  std::vector<float> all;
  table.ForEachRow([&](const RowState& row) {
    all.push_back(static_cast<float>(row.key));
    all.push_back(static_cast<float>(row.frequency));
    all.push_back(static_cast<float>(row.touched_examples));
    all.insert(all.end(), row.state.begin(), row.state.end());
  });
  return all;
}

TEST(TableRestoreTest, GoesOnBitEqualWithAdmissionExpiryAndBudget) {
  v1::TableSpec spec = WithOptimizer(SgdTable(4), v1::OPTIMIZER_KIND_ADAM);
  spec.set_admission_count(2);
  spec.set_expire_after_examples(2000);
  spec.set_byte_budget(6'000);
  const auto table = MakeTable(spec);
  TrainALittle(*table, /*seed=*/1);
  const auto copy = Restored(*table);
  EXPECT_EQ(Everything(*copy), Everything(*table));
  TrainALittle(*table, /*seed=*/2);
  TrainALittle(*copy, /*seed=*/2);
  ASSERT_GT(table->counters().evicted, 0u);
  ASSERT_GT(table->counters().expired, 0u);
  ASSERT_GT(table->counters().not_admitted, 0u);
  std::vector<uint64_t> keys(400);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  EXPECT_EQ(PullRows(*copy, keys), PullRows(*table, keys));
}

TEST(TableRestoreTest, AnotherOptimizerGoesOnWithTheWeightsAlone) {
  const auto trained = MakeTable(WithOptimizer(SgdTable(4), v1::OPTIMIZER_KIND_ADAM));
  TrainALittle(*trained, /*seed=*/1);
  for (const auto kind : {v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_ADAGRAD,
                          v1::OPTIMIZER_KIND_ADAM, v1::OPTIMIZER_KIND_FTRL}) {
    v1::TableSpec spec = WithOptimizer(SgdTable(4), kind);
    spec.mutable_optimizer()->set_initial_accumulator(0.25f);
    const auto table = MakeTable(spec);
    trained->ForEachRow([&](const RowState& row) { ASSERT_TRUE(table->RestoreWeights(row).ok()); });
    const std::vector<uint64_t> keys = Keys(*trained);
    EXPECT_EQ(Keys(*table), keys);
    EXPECT_EQ(PullRows(*table, keys), PullRows(*trained, keys));
    table->ForEachRow([&](const RowState& row) {
      if (kind == v1::OPTIMIZER_KIND_ADAGRAD) {
        EXPECT_THAT(row.state.subspan(4), testing::Each(0.25f)) << "as it begins";
      }
    });
    EXPECT_FALSE(table->RestoreWeights({.key = keys[0], .state = std::vector<float>(4)}).ok());
  }
}

TEST(TableRestoreTest, RefusesARowOfAnotherWidthOrTwice) {
  const auto table = MakeTable(SgdTable(2));
  const std::vector<float> state = {1, 2, 3};
  EXPECT_EQ(table->RestoreRow({.key = 1, .state = state}).code(),
            absl::StatusCode::kInvalidArgument);
  const RowState row = {.key = 1, .state = absl::MakeConstSpan(state).first(2)};
  EXPECT_TRUE(table->RestoreRow(row).ok());
  EXPECT_EQ(table->RestoreRow(row).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(table->RestoreCandidate({.key = 1, .seen = 1}).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(TableRestoreTest, GivesTheRowsInOrderOfTheirKeys) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {9, 1, 5, uint64_t{1} << 63});
  EXPECT_THAT(Keys(*table), testing::ElementsAre(1, 5, 9, uint64_t{1} << 63));
}

}  // namespace
}  // namespace capstan
