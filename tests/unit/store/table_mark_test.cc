// Copies as of a moment: whatever is pushed, evicted and expired while they are read.
#include "capstan/store/table_mark.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "capstan/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using RowValue = std::tuple<uint32_t, uint64_t, std::vector<float>>;
using Rows = std::map<uint64_t, RowValue>;

RowValue ValueOf(const RowState& row) {
  return {row.frequency, row.touched_examples, {row.state.begin(), row.state.end()}};
}

Rows RowsOf(const Table& table) {
  Rows rows;
  table.ForEachRow([&](const RowState& row) { rows[row.key] = ValueOf(row); });
  return rows;
}

// Reads the whole copy, with `between` after each of its pieces.
template <typename Between>
Rows ReadCopy(Table& table, size_t piece, const Between& between) {
  std::vector<RowPlace> places = table.MarkedRows();
  std::sort(places.begin(), places.end());
  Rows rows;
  for (size_t i = 0; i < places.size(); i += piece) {
    const size_t count = std::min(piece, places.size() - i);
    table.VisitMarked(absl::MakeConstSpan(places).subspan(i, count), [&](const RowState& row) {
      EXPECT_TRUE(rows.emplace(row.key, ValueOf(row)).second) << "twice: " << row.key;
    });
    between();
  }
  return rows;
}

// Pushes of random keys, some of which admission, budget and expiry turn away.
class Pusher {
 public:
  Pusher(Table& table, uint64_t seed) : table_(table), seed_(seed) {}

  void Push() {
    std::vector<uint64_t> keys(1 + Next() % 20);
    for (uint64_t& key : keys) key = Mix64(Next() % 150);
    progress_ += Next() % 40;
    PushOnes(table_, keys, progress_);
  }

 private:
  uint64_t Next() { return Draw(1, seed_, draws_++); }

  Table& table_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  uint64_t progress_ = 0;
};

v1::TableSpec LivelyTable() {
  v1::TableSpec spec = WithOptimizer(SgdTable(3), v1::OPTIMIZER_KIND_ADAM);
  spec.set_admission_count(2);
  spec.set_expire_after_examples(600);
  spec.set_byte_budget(90 * 80);
  return spec;
}

class TableMarkTest : public testing::TestWithParam<uint64_t> {};

TEST_P(TableMarkTest, ACopyIsTheTableAsItWasAtTheMark) {
  const auto table = MakeTable(LivelyTable());
  Pusher pusher(*table, GetParam());
  for (int i = 0; i < 60; ++i) pusher.Push();
  for (int round = 0; round < 4; ++round) {
    table->Mark(/*changes_only=*/false);
    const Rows wanted = RowsOf(*table);
    for (int i = 0; i < 10; ++i) pusher.Push();
    const Rows copy = ReadCopy(*table, /*piece=*/7, [&] { pusher.Push(); });
    ASSERT_EQ(copy, wanted) << "round " << round;
    ASSERT_EQ(table->mark().rows, wanted.size());
    table->SettleMark(/*safe=*/round % 2 == 0);
  }
  EXPECT_GT(table->counters().evicted + table->counters().expired, 0u);
}

TEST_P(TableMarkTest, ChangesOnTopOfTheLastSafeCopyAreTheTable) {
  const auto table = MakeTable(LivelyTable());
  Pusher pusher(*table, GetParam());
  for (int i = 0; i < 60; ++i) pusher.Push();
  table->Mark(/*changes_only=*/false);
  Rows safe = ReadCopy(*table, 1000, [] {});
  table->SettleMark(/*safe=*/true);
  size_t changed = 0;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 3; ++i) pusher.Push();
    table->Mark(/*changes_only=*/true);
    const Rows wanted = RowsOf(*table);
    const std::vector<uint64_t> erased = table->mark().erased;
    pusher.Push();
    Rows merged = safe;
    for (uint64_t key : erased) merged.erase(key);
    const Rows changes = ReadCopy(*table, /*piece=*/5, [&] { pusher.Push(); });
    for (const auto& [key, row] : changes) merged[key] = row;
    ASSERT_EQ(merged, wanted) << "round " << round;
    // Of copies that come to nothing the changes are not lost.
    const bool is_safe = Draw(2, GetParam(), round) % 2 == 0;
    table->SettleMark(is_safe);
    if (is_safe) safe = merged;
    changed += changes.size();
  }
  EXPECT_GT(changed, 0u);
}

TEST_P(TableMarkTest, CountsHotRowsAndThoseThatTheLastSafeCopyDoesNotHold) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(600);
  const auto table = MakeTable(spec);
  uint64_t draws = 0;
  const auto next = [&] { return Draw(3, GetParam(), draws++); };
  uint64_t progress = 0;
  Rows safe;
  uint64_t most_unsaved = 0;
  for (int round = 0; round < 40; ++round) {
    const auto push = [&] {
      PushOnes(*table, {next() % 12, next() % 12, next() % 12, next() % 12}, progress += 10);
    };
    for (int i = 0; i < 30; ++i) push();
    if (next() % 8 == 0) PushOnes(*table, {99}, progress += 5000);  // All others expire.
    table->Mark(/*changes_only=*/false);
    const Rows marked = RowsOf(*table);
    push();
    if (next() % 2 == 0) ReadCopy(*table, /*piece=*/3, push);
    const bool is_safe = next() % 2 == 0;
    table->SettleMark(is_safe);
    if (is_safe) safe = marked;

    uint64_t hot = 0;
    uint64_t unsaved = 0;
    for (const auto& [key, row] : RowsOf(*table)) {
      if (std::get<0>(row) < HotRows::kPushes) continue;
      ++hot;
      if (!safe.contains(key) || safe.at(key) != row) ++unsaved;
    }
    ASSERT_EQ(table->hot_rows(), hot) << "round " << round;
    ASSERT_EQ(table->hot_rows_unsaved(), unsaved) << "round " << round;
    most_unsaved = std::max(most_unsaved, unsaved);
  }
  EXPECT_GT(most_unsaved, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TableMarkTest, testing::Range(uint64_t{0}, uint64_t{20}));

TEST(TableMarkTest, ChangesHoldOnlyWhatWasTouched) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {1, 2, 3, 4});
  table->Mark(/*changes_only=*/false);
  table->SettleMark(/*safe=*/true);
  PushOnes(*table, {3});
  table->Mark(/*changes_only=*/true);
  const std::vector<RowPlace> places = table->MarkedRows();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].key, 3u);
}

TEST(TableMarkTest, KeepsARowOnceAndOnlyUntilItHasBeenRead) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {1, 2, 3, 4});
  table->Mark(/*changes_only=*/false);
  EXPECT_EQ(table->kept_bytes(), 0u);
  PushOnes(*table, {2});
  const size_t one = table->kept_bytes();
  EXPECT_GT(one, 0u);
  PushOnes(*table, {2});
  EXPECT_EQ(table->kept_bytes(), one);
  std::vector<RowPlace> places = table->MarkedRows();
  std::sort(places.begin(), places.end());
  table->VisitMarked(places, [](const RowState&) {});
  PushOnes(*table, {1, 3, 4});
  EXPECT_EQ(table->kept_bytes(), one);
  table->Unmark();
  EXPECT_EQ(table->kept_bytes(), 0u);
}

TEST(TableMarkTest, ForgetsWhatIsErasedWhenItIsTooMuchAndWantsAFullCopyThen) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(1);
  const auto table = MakeTable(spec);
  table->TrackChanges();
  EXPECT_TRUE(table->changes_known());
  uint64_t progress = 0;
  for (uint64_t key = 0; key < 20'000; key += 100) {
    std::vector<uint64_t> keys(100);
    for (uint64_t i = 0; i < 100; ++i) keys[i] = key + i;
    PushOnes(*table, keys, progress += 10);
  }
  EXPECT_FALSE(table->changes_known());
  table->Mark(/*changes_only=*/false);
  EXPECT_TRUE(table->changes_known());
}

}  // namespace
}  // namespace capstan
