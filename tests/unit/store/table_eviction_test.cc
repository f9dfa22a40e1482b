// Admission, expiry and the byte budget.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using testing::ElementsAre;

v1::TableSpec AdmittedAfter(uint32_t pushes) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_admission_count(pushes);
  return spec;
}

TEST(TableAdmissionTest, CreatesARowWithThePushThatReachesTheCount) {
  const auto table = MakeTable(AdmittedAfter(3));
  PushOnes(*table, {1});
  PushOnes(*table, {1});
  EXPECT_EQ(table->row_count(), 0u);
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(0));
  PushOnes(*table, {1});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(1));  // Only the third gradient.
  EXPECT_EQ(table->counters().not_admitted, 2u);
}

TEST(TableAdmissionTest, CountsAKeyOnceForEachGradientThatHoldsIt) {
  const auto table = MakeTable(AdmittedAfter(2));
  PushOnes(*table, {1, 1, 1});
  EXPECT_EQ(table->row_count(), 0u);
  const std::vector<uint64_t> keys = {2};
  const std::vector<float> values = {-1};
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  table->Apply(std::vector<RowGradients>{gradient, gradient}, {});  // Two lanes of a round.
  EXPECT_THAT(Keys(*table), ElementsAre(2));
}

TEST(TableAdmissionTest, IsNotEarnedByPulls) {
  const auto table = MakeTable(AdmittedAfter(2));
  for (int i = 0; i < 5; ++i) PullRows(*table, {1});
  PushOnes(*table, {1});
  EXPECT_EQ(table->row_count(), 0u);
}

v1::TableSpec ExpiringAfter(uint64_t examples) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(examples);
  return spec;
}

TEST(TableExpiryTest, ForgetsARowThatHasNotBeenPushedForSoManyExamples) {
  const auto table = MakeTable(ExpiringAfter(100));
  PushOnes(*table, {1, 2}, /*progress_examples=*/10);
  PushOnes(*table, {2}, /*progress_examples=*/110);
  EXPECT_THAT(PullRows(*table, {1, 2}), ElementsAre(1, 2));  // Exactly 100: still there.
  PushOnes(*table, {2}, /*progress_examples=*/111);
  EXPECT_THAT(PullRows(*table, {1, 2}), ElementsAre(0, 3));
  // Its memory is free when all have expired that were touched in the same eighth of that time.
  PushOnes(*table, {2}, /*progress_examples=*/120);
  EXPECT_THAT(Keys(*table), ElementsAre(2));
  EXPECT_EQ(table->counters().expired, 1u);
}

// Rows are touched for longer than 32 bits can count, as in an epoch of four billion examples.
TEST(TableExpiryTest, GoesOnAfterAnyNumberOfExamples) {
  const auto table = MakeTable(ExpiringAfter(100));
  for (const uint64_t base :
       {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{5} << 32, uint64_t{1} << 62}) {
    PushOnes(*table, {1, 2}, base + 10);
    PushOnes(*table, {2}, base + 110);
    std::vector<uint64_t> touched;
    table->ForEachRow([&](const RowState& row) { touched.push_back(row.touched_examples); });
    EXPECT_THAT(touched, ElementsAre(base + 10, base + 110));
    EXPECT_NE(PullRows(*table, {1}).front(), 0) << "exactly 100: still there";
    PushOnes(*table, {2}, base + 111);
    EXPECT_EQ(PullRows(*table, {1}).front(), 0) << base;
    PushOnes(*table, {2}, base + 130);
    EXPECT_THAT(Keys(*table), ElementsAre(2)) << base;
  }
}

TEST(TableExpiryTest, ARestoredRowExpiresAsBefore) {
  const uint64_t base = uint64_t{7} << 32;
  const auto table = MakeTable(ExpiringAfter(100));
  PushOnes(*table, {1}, base + 10);
  const auto copy = MakeTable(ExpiringAfter(100));
  copy->RestoreProgress(table->progress_examples());
  table->ForEachRow([&](const RowState& row) { ASSERT_TRUE(copy->RestoreRow(row).ok()); });
  PushOnes(*copy, {2}, base + 110);
  EXPECT_NE(PullRows(*copy, {1}).front(), 0);
  PushOnes(*copy, {2}, base + 111);
  EXPECT_EQ(PullRows(*copy, {1}).front(), 0);
}

TEST(TableExpiryTest, StartsAnExpiredRowAnewWhenItIsPushedAgain) {
  v1::TableSpec spec = ExpiringAfter(100);
  const auto table = MakeTable(spec);
  PushOnes(*table, {1}, /*progress_examples=*/10);
  PushOnes(*table, {1}, /*progress_examples=*/20);
  PushOnes(*table, {1}, /*progress_examples=*/500);
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(1));
  EXPECT_EQ(table->counters().created, 2u);
}

TEST(TableExpiryTest, ReadsAnExpiredRowAsMissingBeforeItIsSwept) {
  const auto table = MakeTable(ExpiringAfter(100));
  std::vector<uint64_t> keys(1000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  PushOnes(*table, keys, /*progress_examples=*/0);
  PushOnes(*table, {5000}, /*progress_examples=*/500);  // Sweeps two rows.
  EXPECT_GT(table->row_count(), 900u);
  for (float value : PullRows(*table, keys)) EXPECT_EQ(value, 0);
  for (int i = 0; i < 600; ++i) PushOnes(*table, {5000}, /*progress_examples=*/500);
  EXPECT_THAT(Keys(*table), ElementsAre(5000));
  EXPECT_EQ(table->counters().expired, 1000u);
}

TEST(TableExpiryTest, KeepsItsPrecisionWhenTheExpiryIsLong) {
  const uint64_t expiry = 10'000'000'000;
  const auto table = MakeTable(ExpiringAfter(expiry));
  PushOnes(*table, {1}, /*progress_examples=*/expiry);
  PushOnes(*table, {2}, /*progress_examples=*/2 * expiry - expiry / 1000);
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(1));
  PushOnes(*table, {2}, /*progress_examples=*/2 * expiry + expiry / 1000);
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(0));
}

// Room for `rows` rows: each has 24 bytes and at most 16 in the index.
v1::TableSpec WithRoomFor(uint64_t rows) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_byte_budget(rows * (24 + 16));
  return spec;
}

TEST(TableBudgetTest, EvictsTheLeastFrequentlyPushedThenTheLongestUntouched) {
  const auto table = MakeTable(WithRoomFor(4));
  PushOnes(*table, {1}, /*progress_examples=*/0);
  PushOnes(*table, {2}, /*progress_examples=*/2048);
  PushOnes(*table, {3, 4}, /*progress_examples=*/4096);
  PushOnes(*table, {1}, /*progress_examples=*/6144);  // Twice now.
  PushOnes(*table, {5}, /*progress_examples=*/8192);
  EXPECT_THAT(Keys(*table), ElementsAre(1, 3, 4, 5));
  PushOnes(*table, {6}, /*progress_examples=*/8192);  // 3 and 4 are alike: the lower key goes.
  EXPECT_THAT(Keys(*table), ElementsAre(1, 4, 5, 6));
  EXPECT_EQ(table->counters().evicted, 2u);
}

TEST(TableBudgetTest, NeverEvictsRowsOfTheUpdateItself) {
  const auto table = MakeTable(WithRoomFor(3));
  PushOnes(*table, {1, 2, 3});
  PushOnes(*table, {1, 2, 9});
  EXPECT_THAT(Keys(*table), ElementsAre(1, 2, 9));
  EXPECT_THAT(PullRows(*table, {1, 2, 9}), ElementsAre(2, 2, 1));
}

TEST(TableBudgetTest, RefusesAndCountsNewKeysWhenEverythingIsInUse) {
  const auto table = MakeTable(WithRoomFor(3));
  PushOnes(*table, {1, 2, 3, 4, 5});
  EXPECT_EQ(table->row_count(), 3u);
  EXPECT_EQ(table->counters().refused, 2u);
  PushOnes(*table, {1, 2, 3, 9});
  EXPECT_THAT(PullRows(*table, {1, 2, 3, 9}), ElementsAre(2, 2, 2, 0));
}

TEST(TableBudgetTest, StaysWithinItsBytesUnderAFloodOfNewKeys) {
  v1::TableSpec spec = WithOptimizer(SgdTable(16), v1::OPTIMIZER_KIND_ADAGRAD);
  spec.set_byte_budget(4 << 20);
  const auto table = MakeTable(spec);
  std::vector<uint64_t> keys(500);
  for (uint64_t push = 0; push < 300; ++push) {
    for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = push * keys.size() + i;
    PushOnes(*table, keys);
    PushOnes(*table, {7, 77, 777});
  }
  EXPECT_LE(table->memory_bytes(),
            (4u << 20) + (256u << 10));  // And the slab that is being filled.
  EXPECT_GT(table->counters().evicted, 100'000u);
  EXPECT_THAT(PullRows(*table, {7})[0], testing::Gt(1));  // Often pushed: it has stayed.
}

TEST(TableBudgetTest, IsDividedByThePartitions) {
  v1::TableSpec spec = WithRoomFor(8);
  const auto table = *Table::Create(spec, /*partition_count=*/4);
  PushOnes(*table, {1, 2, 3});
  EXPECT_EQ(table->row_count(), 2u);
}

}  // namespace
}  // namespace capstan
