#include "capstan/store/row_updates.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(RowUpdatesTest, CountsTheUpdatesOfEachRowForItself) {
  RowUpdates rows;
  rows.Append();
  rows.Append();
  const RowVersion first = rows.of(0), second = rows.of(1);
  rows.Count(1);
  rows.Count(1);
  EXPECT_EQ(UpdatesSince(first, rows.of(0)), 0u);
  EXPECT_EQ(UpdatesSince(second, rows.of(1)), 2u);
}

TEST(RowUpdatesTest, ARowThatWasMadeSinceThePullHasHadAllItsUpdatesSince) {
  RowUpdates rows;
  rows.Append();
  for (int i = 0; i < 3; ++i) rows.Count(0);
  EXPECT_EQ(UpdatesSince(RowVersion::kNoRow, rows.of(0)), 3u);
  EXPECT_EQ(UpdatesSince(RowVersion::kNoRow, RowVersion::kNoRow), 0u);
}

TEST(RowUpdatesTest, ARowThatWasErasedOrMadeAnewReadsNeitherAsFreshNorAsVeryStale) {
  RowUpdates rows;
  rows.Append();
  for (int i = 0; i < 1000; ++i) rows.Count(0);
  const RowVersion pulled = rows.of(0);
  rows.Remove(0);
  EXPECT_EQ(UpdatesSince(pulled, RowVersion::kNoRow), 1u);
  rows.Append();
  rows.Count(0);
  EXPECT_EQ(UpdatesSince(pulled, rows.of(0)), 2u) << "it was erased, and updated once";
  for (int i = 1; i < 1000; ++i) rows.Count(0);
  EXPECT_EQ(UpdatesSince(pulled, rows.of(0)), 1001u) << "as many updates as the one before";
}

TEST(RowUpdatesTest, AVersionThatHasNotBeenYetIsNotVeryStale) {
  RowUpdates pulled_from, rows;
  pulled_from.Append();
  rows.Append();
  for (int i = 0; i < 9; ++i) pulled_from.Count(0);
  rows.Count(0);
  EXPECT_EQ(UpdatesSince(pulled_from.of(0), rows.of(0)), 2u);
}

TEST(RowUpdatesTest, AHotRowIsCountedPastTheWidthOfTheCounter) {
  RowUpdates rows;
  rows.Append();
  for (uint32_t i = 0; i < RowUpdates::kUpdates; ++i) rows.Count(0);
  const RowVersion pulled = rows.of(0);
  rows.Count(0);
  rows.Count(0);
  EXPECT_EQ(UpdatesSince(pulled, rows.of(0)), 2u);
}

TEST(RowUpdatesTest, TheLastRowTakesThePlaceOfARemovedOne) {
  RowUpdates rows;
  for (int i = 0; i < 3; ++i) rows.Append();
  rows.Count(2);
  const RowVersion last = rows.of(2);
  rows.Remove(0);
  EXPECT_EQ(rows.of(0), last);
  EXPECT_LE(rows.memory_bytes(), 4 * 4u);
}

}  // namespace
}  // namespace capstan
