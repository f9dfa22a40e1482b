// What becomes of gradients that are judged by the updates of their rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "capstan/store/table.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using testing::ElementsAre;

v1::UpdatePolicy Scale() {
  v1::UpdatePolicy policy;
  policy.set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  return policy;
}

v1::UpdatePolicy DropAbove(uint32_t staleness) {
  v1::UpdatePolicy policy;
  policy.set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  policy.set_drop_above(staleness);
  return policy;
}

std::unique_ptr<Table> CountingTable(const v1::TableSpec& spec = SgdTable(1)) {
  auto table = MakeTable(spec);
  table->CountUpdates();
  return table;
}

std::vector<uint32_t> VersionsOf(const Table& table, const std::vector<uint64_t>& keys) {
  std::vector<float> values(keys.size() * table.dim());
  std::vector<uint32_t> versions(keys.size());
  table.Pull(keys, values.data(), versions.data());
  return versions;
}

// A gradient of -1 for each key, computed from these versions.
bool PushPulled(Table& table, const std::vector<uint64_t>& keys,
                const std::vector<uint32_t>& versions, const v1::UpdatePolicy& policy) {
  const std::vector<float> values(keys.size(), -1);
  RowGradients gradient = {.keys = keys, .values = values, .pulled = {}};
  gradient.versions = versions;
  return table.Apply({&gradient, 1}, {.row_policy = &policy});
}

TEST(RowStalenessTest, ARowThatNobodyTouchedIsNotScaledHoweverManyOthersWere) {
  const auto table = CountingTable();
  const std::vector<uint32_t> pulled = VersionsOf(*table, {1, 2});
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(PushPulled(*table, {2}, VersionsOf(*table, {2}), Scale()));
  }
  EXPECT_TRUE(PushPulled(*table, {1, 2}, pulled, Scale()));
  EXPECT_THAT(PullRows(*table, {1, 2}), ElementsAre(1, 4.25f));
  EXPECT_EQ(table->row_staleness().counts[0], 1u);
  EXPECT_EQ(table->row_staleness().counts[4], 1u);
  EXPECT_EQ(table->row_staleness().max, 4u);
}

TEST(RowStalenessTest, OnlyTheRowsThatAreTooStaleAreDropped) {
  const auto table = CountingTable();
  const std::vector<uint32_t> pulled = VersionsOf(*table, {1, 2});
  for (int i = 0; i < 2; ++i) PushPulled(*table, {2}, VersionsOf(*table, {2}), DropAbove(1));
  EXPECT_TRUE(PushPulled(*table, {1, 2}, pulled, DropAbove(1)));
  EXPECT_THAT(PullRows(*table, {1, 2}), ElementsAre(1, 2));
  EXPECT_EQ(table->counters().stale, 1u);
  EXPECT_FALSE(PushPulled(*table, {2}, {pulled[1]}, DropAbove(1))) << "nothing is left of it";
  EXPECT_THAT(PullRows(*table, {2}), ElementsAre(2));
}

TEST(RowStalenessTest, ADroppedGradientMakesNoRow) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(10);
  const auto table = CountingTable(spec);
  PushOnes(*table, {1}, /*progress_examples=*/0);
  const std::vector<uint32_t> pulled = VersionsOf(*table, {1});
  PushOnes(*table, {2}, /*progress_examples=*/100);  // The row expires.
  EXPECT_FALSE(PushPulled(*table, {1}, pulled, DropAbove(0)));
  EXPECT_THAT(Keys(*table), ElementsAre(2));
}

TEST(RowStalenessTest, AGradientThatDoesNotKnowItsVersionsIsNotJudged) {
  const auto table = CountingTable();
  PushOnes(*table, {1});
  EXPECT_TRUE(PushPulled(*table, {1}, {}, DropAbove(0)));
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(2));
  EXPECT_TRUE(table->row_staleness().empty);
}

TEST(RowStalenessTest, EachGradientOfAMeanIsWeighedForItself) {
  const auto table = CountingTable();
  const std::vector<uint64_t> key = {1};
  const std::vector<uint32_t> old = VersionsOf(*table, key);
  for (int i = 0; i < 4; ++i) PushOnes(*table, key);
  const std::vector<uint32_t> fresh = VersionsOf(*table, key);
  const std::vector<float> minus = {-1};
  RowGradients first = {.keys = key, .values = minus, .pulled = {}, .weight = 0.5f};
  RowGradients second = first;
  first.versions = old;
  second.versions = fresh;
  const RowGradients both[] = {first, second};
  const v1::UpdatePolicy policy = Scale();
  EXPECT_TRUE(table->Apply(both, {.row_policy = &policy}));
  EXPECT_THAT(PullRows(*table, key), ElementsAre(4 + 0.5f / 4 + 0.5f));
}

TEST(RowStalenessTest, CountingTakesFourBytesARow) {
  const auto counting = CountingTable();
  const auto plain = MakeTable(SgdTable(1));
  for (uint64_t key = 0; key < 4096; ++key) {
    PushOnes(*counting, {key});
    PushOnes(*plain, {key});
  }
  EXPECT_EQ(counting->memory_bytes() - plain->memory_bytes(), 4 * 4096u);
}

}  // namespace
}  // namespace capstan
