#include "capstan/store/row_changes.h"

#include <vector>

#include "capstan/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RowChanges OfRows(uint32_t count) {
  RowChanges changes;
  for (uint32_t i = 0; i < count; ++i) changes.Append();
  return changes;
}

std::vector<uint32_t> Kept(const RowChanges& changes, bool changes_only) {
  std::vector<uint32_t> rows;
  changes.ForEachKept(changes_only, [&rows](uint32_t row) { rows.push_back(row); });
  return rows;
}

TEST(RowChangesTest, TellsChangesBeforeAMarkFromThoseAfterIt) {
  RowChanges changes = OfRows(4);
  changes.SetFresh(1);
  changes.SetFresh(2);
  changes.Mark();
  changes.SetFresh(2);
  changes.SetFresh(3);
  EXPECT_EQ(changes.of(0), RowChange::kSaved);
  EXPECT_EQ(changes.of(1), RowChange::kMarked);
  EXPECT_EQ(changes.of(2), RowChange::kFresh);
  EXPECT_EQ(changes.of(3), RowChange::kFresh);
  EXPECT_THAT(Kept(changes, /*changes_only=*/false), ElementsAre(0, 1));
  EXPECT_THAT(Kept(changes, /*changes_only=*/true), ElementsAre(1));
}

TEST(RowChangesTest, ASafeCopyForgetsWhatItHoldsAndOneThatCameToNothingDoesNot) {
  for (const bool safe : {true, false}) {
    RowChanges changes = OfRows(2);
    changes.SetFresh(0);
    changes.Mark();
    changes.SetFresh(1);
    changes.Settle(safe);
    EXPECT_EQ(changes.of(0), safe ? RowChange::kSaved : RowChange::kFresh);
    EXPECT_EQ(changes.of(1), RowChange::kFresh);
  }
}

TEST(RowChangesDeathTest, AMarkBeforeTheLastOneIsSettledWouldLoseChanges) {
  RowChanges changes = OfRows(1);
  changes.SetFresh(0);
  changes.Mark();
  EXPECT_DEATH(changes.Mark(), "marked");
}

TEST(RowChangesTest, NamesEveryRowOnceAtTheEdgesOfAWord) {
  for (const uint32_t count : {0u, 1u, 63u, 64u, 65u, 128u}) {
    const std::vector<uint32_t> rows = Kept(OfRows(count), /*changes_only=*/false);
    ASSERT_EQ(rows.size(), count);
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(rows[i], i);
    EXPECT_THAT(Kept(OfRows(count), /*changes_only=*/true), IsEmpty());
  }
}

// Beside one value a row, moved as the rows are.
TEST(RowChangesTest, FollowsRowsThatComeAndGo) {
  RowChanges changes;
  std::vector<RowChange> wanted;
  bool marked = false;
  for (uint64_t step = 0; step < 20'000; ++step) {
    const uint64_t draw = Draw(1, 7, step);
    const auto row = static_cast<uint32_t>(wanted.empty() ? 0 : (draw >> 8) % wanted.size());
    const uint64_t action = draw % 200;
    if (wanted.empty() || action < 60) {
      changes.Append();
      wanted.push_back(RowChange::kSaved);
    } else if (action < 115) {
      changes.Remove(row);
      wanted[row] = wanted.back();
      wanted.pop_back();
    } else if (action < 190) {
      changes.SetFresh(row);
      wanted[row] = RowChange::kFresh;
    } else if (action < 195) {
      changes.SetSaved(row);
      wanted[row] = RowChange::kSaved;
    } else {
      for (RowChange& change : wanted) {
        if (!marked && change == RowChange::kFresh)
          change = RowChange::kMarked;
        else if (marked && change == RowChange::kMarked) {
          change = action % 2 == 0 ? RowChange::kSaved : RowChange::kFresh;
        }
      }
      marked ? changes.Settle(/*safe=*/action % 2 == 0) : changes.Mark();
      marked = !marked;
    }
    ASSERT_EQ(changes.size(), wanted.size());
    if (step % 16 != 0) continue;
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(changes.of(i), wanted[i]) << "row " << i << ", step " << step;
    }
  }
  EXPECT_GT(wanted.size(), 200u);
}

}  // namespace
}  // namespace capstan
