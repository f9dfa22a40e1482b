#include "capstan/store/table.h"

#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using testing::ElementsAre;

constexpr uint64_t kLastKey = std::numeric_limits<uint64_t>::max();

TEST(TableTest, GivesAKeyWithoutARowItsInitialValuesAndCreatesNothing) {
  const auto table = MakeTable(WithInitializer(SgdTable(3), v1::INITIALIZER_KIND_UNIFORM, 0.5f));
  const std::vector<float> first = PullRows(*table, {7, 8});
  EXPECT_EQ(first, PullRows(*table, {7, 8}));
  EXPECT_NE(first[0], first[3]);
  EXPECT_EQ(table->row_count(), 0u);
  EXPECT_EQ(table->memory_bytes(), MakeTable(SgdTable(3))->memory_bytes());
}

TEST(TableTest, StartsARowFromTheVeryValuesThatAPullGaveBefore) {
  const auto table = MakeTable(WithInitializer(SgdTable(3), v1::INITIALIZER_KIND_NORMAL, 0.5f));
  const std::vector<float> before = PullRows(*table, {7});
  Push(*table, {7}, {0, 0, 0});
  EXPECT_EQ(table->row_count(), 1u);
  EXPECT_EQ(PullRows(*table, {7}), before);
}

TEST(TableTest, TakesAllKeysIncludingTheFirstAndTheLast) {
  const auto table = MakeTable(SgdTable(1));
  Push(*table, {0, kLastKey, 1}, {-1, -2, -3});
  EXPECT_THAT(PullRows(*table, {kLastKey, 0, 1, 2}), ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(Keys(*table), ElementsAre(0, 1, kLastKey));
}

TEST(TableTest, SumsTheDuplicatesOfAPushBeforeTheUpdate) {
  v1::TableSpec spec = SgdTable(1);
  spec.mutable_optimizer()->set_clip_value(1);  // Shows whether there was one update or two.
  const auto table = MakeTable(spec);
  Push(*table, {5, 6, 5}, {-3, -0.5f, 2.5f});
  EXPECT_THAT(PullRows(*table, {5, 6}), ElementsAre(0.5f, 0.5f));
}

TEST(TableTest, GivesDuplicatesOfAPullEachTheirCopy) {
  const auto table = MakeTable(SgdTable(1));
  Push(*table, {5}, {-4});
  EXPECT_THAT(PullRows(*table, {5, 1, 5}), ElementsAre(4, 0, 4));
}

TEST(TableTest, ReadsAndWritesAtAnyAlignment) {
  const auto table = MakeTable(SgdTable(2));
  const uint64_t keys[] = {3, 4};
  const float values[] = {-1, -2, -3, -4};
  std::vector<char> packed_keys(17), packed_values(17), pulled(19);
  std::memcpy(&packed_keys[1], keys, 16);
  std::memcpy(&packed_values[1], values, 16);
  RowGradients gradient;
  gradient.keys = PackedKeys(&packed_keys[1], 2);
  gradient.values = PackedFloats(&packed_values[1], 4);
  table->Apply({&gradient, 1}, {});
  table->Pull(gradient.keys, &pulled[3]);
  float result[4];
  std::memcpy(result, &pulled[3], 16);
  EXPECT_THAT(result, ElementsAre(1, 2, 3, 4));
}

TEST(TableTest, AppliesTheWeightedSumOfSeveralGradientsAsOneUpdate) {
  v1::TableSpec spec = SgdTable(1);
  spec.mutable_optimizer()->set_clip_value(1);
  const auto table = MakeTable(spec);
  const std::vector<uint64_t> keys_a = {1, 2}, keys_b = {2, 3};
  const std::vector<float> values_a = {-1, -4}, values_b = {3, -1};
  RowGradients a, b;
  a.keys = keys_a;
  a.values = values_a;
  a.weight = 0.25f;
  b.keys = keys_b;
  b.values = values_b;
  b.weight = 0.5f;
  table->Apply(std::vector<RowGradients>{a, b}, {});
  // Key 2: -1 + 1.5, not clipped to -1 + 1 as two updates would be.
  EXPECT_THAT(PullRows(*table, {1, 2, 3}), ElementsAre(0.25f, -0.5f, 0.5f));
}

TEST(TableTest, CompensatesAStaleGradientForTheDriftOfItsRow) {
  const auto table = MakeTable(SgdTable(1));
  Push(*table, {1}, {-10});
  const std::vector<uint64_t> keys = {1};
  const std::vector<float> values = {2}, pulled = {7};
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  gradient.pulled = pulled;
  table->Apply({&gradient, 1}, {.compensate_lambda = 0.5f});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(10 - (2 + 0.5f * 4 * (10 - 7))));
}

TEST(TableTest, SumsDuplicatesBeforeItCompensates) {
  const auto table = MakeTable(SgdTable(1));
  Push(*table, {1}, {-10});
  const std::vector<uint64_t> keys = {1, 1};
  const std::vector<float> values = {1, 1}, pulled = {7, 7};
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  gradient.pulled = pulled;
  gradient.weight = 0.5f;
  table->Apply({&gradient, 1}, {.compensate_lambda = 0.5f});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(10 - 0.5f * 8));
}

TEST(TableTest, GivesEachSegmentItsInitializerAndItsShareOfTheLearningRate) {
  v1::TableSpec spec = SgdTable(3);
  spec.mutable_segments(0)->set_width(1);
  v1::TableSegment* embedding = spec.add_segments();
  embedding->set_offset(1);
  embedding->set_width(2);
  embedding->set_learning_rate_scale(0.5f);
  embedding->mutable_initializer()->set_kind(v1::INITIALIZER_KIND_CONSTANT);
  embedding->mutable_initializer()->set_scale(8);
  const auto table = MakeTable(spec);
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(0, 8, 8));
  Push(*table, {1}, {1, 1, 2});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(-1, 7.5f, 7));
}

TEST(TableTest, FollowsTheLearningRateScheduleOverTheProgressOfTheJob) {
  v1::TableSpec spec = SgdTable(1);
  v1::ScheduleSpec* schedule = spec.mutable_optimizer()->mutable_schedule();
  schedule->set_kind(v1::SCHEDULE_KIND_STEP);
  schedule->set_decay_examples(100);
  schedule->set_decay_rate(0.5f);
  const auto table = MakeTable(spec);
  Push(*table, {1}, {-1}, {.progress_examples = 99});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(1));
  Push(*table, {1}, {-1}, {.progress_examples = 100});
  EXPECT_THAT(PullRows(*table, {1}), ElementsAre(1.5f));
}

TEST(TableTest, CountsThePushesThatHeldAKey) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {1, 1, 2}, /*progress_examples=*/0);
  PushOnes(*table, {1}, /*progress_examples=*/5000);
  std::vector<std::pair<uint32_t, uint64_t>> facts;
  table->ForEachRow(
      [&](const RowState& row) { facts.emplace_back(row.frequency, row.touched_examples); });
  EXPECT_THAT(facts, ElementsAre(std::pair(2, 4096), std::pair(1, 0)));  // In units of 1024.
}

TEST(TableTest, NeedsAtMostAQuarterMoreThanItsWeightsAndSlotsAndOneSlab) {
  constexpr double kSlab = 256 * 1024;
  v1::TableSpec spec = WithOptimizer(SgdTable(16), v1::OPTIMIZER_KIND_ADAGRAD);
  const auto table = MakeTable(spec);
  std::vector<uint64_t> keys(1000);
  for (uint64_t begin = 0; begin < 200'000; begin += keys.size()) {
    for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = begin + i;
    PushOnes(*table, keys);
    const double rows = static_cast<double>(table->row_count() * (16 + 16) * sizeof(float));
    ASSERT_LE(table->memory_bytes(), 1.25 * rows + kSlab) << table->row_count();
  }
}

}  // namespace
}  // namespace capstan
