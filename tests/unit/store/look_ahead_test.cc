// Several tables, of each of which a few keys are looked up.
#include "capstan/store/look_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> KeysBelow(uint64_t count) {
  std::vector<uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), 0);
  return keys;
}

// One table that is wanted with so many keys each time.
class Wanted {
 public:
  explicit Wanted(const std::vector<size_t>& counts) {
    for (const size_t count : counts)
      wanted_.push_back({table_.get(), PackedKeys(keys_.data(), count)});
  }
  std::vector<size_t> Visited(RowUse use) const {
    std::vector<size_t> visited;
    VisitAhead(wanted_, use, [&](size_t i) { visited.push_back(i); });
    return visited;
  }
  size_t Ahead(size_t begin) const { return AskAhead(wanted_, begin, RowUse::kPull); }

 private:
  const std::vector<uint64_t> keys_ = KeysBelow(1000);
  const std::unique_ptr<Table> table_ = MakeTable(SgdTable(2));
  std::vector<WantedRows> wanted_;
};

TEST(LookAheadTest, VisitsEachTableOnceAndInOrderHoweverManyKeysItHas) {
  const Wanted wanted({1, 1, 1000, 2, 60, 70, 128, 0, 1});
  EXPECT_THAT(wanted.Visited(RowUse::kPull), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(wanted.Visited(RowUse::kApply), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Wanted({}).Visited(RowUse::kPull), ElementsAre());
}

TEST(LookAheadTest, AsksForManySmallTablesTogetherAndForALargeOneAlone) {
  EXPECT_EQ(Wanted(std::vector<size_t>(40, 2)).Ahead(0), 40u);
  const Wanted mixed({3, 1000, 3, 3});
  EXPECT_EQ(mixed.Ahead(0), 1u);
  EXPECT_EQ(mixed.Ahead(1), 2u);
  EXPECT_EQ(mixed.Ahead(2), 4u);
}

// Rows that are there, that are missing, that have expired and that are not admitted yet.
TEST(LookAheadTest, WhatIsAskedForChangesNoTableAndNoResult) {
  v1::TableSpec spec = SgdTable(2);
  spec.set_admission_count(2);
  spec.set_expire_after_examples(100);
  std::vector<std::unique_ptr<Table>> asked, others;
  const std::vector<uint64_t> keys = {1, 2, 3, 4};
  for (std::vector<std::unique_ptr<Table>>* tables : {&asked, &others}) {
    for (int i = 0; i < 5; ++i) {
      tables->push_back(MakeTable(spec));
      Table& table = *tables->back();
      table.CountUpdates();
      const auto push = [&table](const std::vector<uint64_t>& rows, uint64_t progress) {
        Push(table, rows, std::vector<float>(2 * rows.size(), -1), {.progress_examples = progress});
      };
      push({1}, 0);
      push({1}, 0);        // Admitted, and expires.
      push({2, 3}, 1000);  // One push short.
      push({3}, 1000);
    }
  }
  std::vector<WantedRows> wanted;
  for (const auto& table : asked) wanted.push_back({table.get(), keys});
  for (const RowUse use : {RowUse::kPull, RowUse::kApply}) {
    VisitAhead(wanted, use, [&](size_t i) {
      EXPECT_EQ(PullRows(*asked[i], keys), PullRows(*others[i], keys));
      EXPECT_THAT(PullRows(*asked[i], keys), ElementsAre(0, 0, 0, 0, 1, 1, 0, 0));
      EXPECT_EQ(asked[i]->row_count(), others[i]->row_count());
      EXPECT_EQ(asked[i]->counters().created, 2u);
      EXPECT_EQ(asked[i]->VersionOf(3), others[i]->VersionOf(3));
    });
  }
}

TEST(LookAheadTest, TablesThatAreUpdatedInTurnByOneThreadKeepTheirRowsApart) {
  std::vector<std::unique_ptr<Table>> tables;
  for (int i = 0; i < 3; ++i) tables.push_back(MakeTable(SgdTable(1)));
  Push(*tables[0], {1, 2, 1}, {-1, -2, -3});  // With a duplicate: sorted into groups.
  Push(*tables[1], {1}, {-10});
  Push(*tables[2], {2, 5}, {-20, -50});
  Push(*tables[0], {5}, {-7});
  EXPECT_THAT(PullRows(*tables[0], {1, 2, 5}), ElementsAre(4, 2, 7));
  EXPECT_THAT(PullRows(*tables[1], {1, 2, 5}), ElementsAre(10, 0, 0));
  EXPECT_THAT(PullRows(*tables[2], {1, 2, 5}), ElementsAre(0, 20, 50));
}

}  // namespace
}  // namespace capstan
