#include "capstan/store/row_slabs.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(RowSlabsTest, KeepsRowsApartAcrossSlabs) {
  RowSlabs slabs(/*floats=*/3);
  EXPECT_EQ(slabs.row_bytes(), 8 + 12 + 8 + 4u);  // Rounded up to 8.
  for (uint32_t i = 0; i < 50'000; ++i) {
    const RowSlabs::Row row = slabs.at(slabs.Append());
    row.key() = i;
    row.state()[0] = row.state()[2] = static_cast<float>(i);
    row.frequency() = i + 1;
    row.touched() = i + 2;
  }
  for (uint32_t i = 0; i < 50'000; ++i) {
    const RowSlabs::Row row = slabs.at(i);
    ASSERT_EQ(row.key(), i);
    ASSERT_EQ(row.state()[2], static_cast<float>(i));
    ASSERT_EQ(row.frequency(), i + 1);
    ASSERT_EQ(row.touched(), i + 2);
  }
}

TEST(RowSlabsTest, MovesTheLastRowIntoTheGapAndGivesMemoryBack) {
  RowSlabs slabs(3);
  for (uint32_t i = 0; i < 30'000; ++i) slabs.at(slabs.Append()).key() = i;
  const size_t full = slabs.memory_bytes();
  EXPECT_EQ(slabs.Remove(5), 29'999u);
  EXPECT_EQ(slabs.at(5).key(), 29'999u);
  EXPECT_EQ(slabs.Remove(29'998), 29'998u);
  EXPECT_EQ(slabs.size(), 29'998u);
  while (slabs.size() > 0) slabs.Remove(slabs.size() - 1);
  EXPECT_LT(slabs.memory_bytes(), full);
}

TEST(RowSlabsTest, AFewRowsTakeLittleAndManyAtMostASlabMoreThanTheyNeed) {
  RowSlabs slabs(/*floats=*/32);  // Rows of 144 bytes.
  EXPECT_EQ(slabs.memory_bytes(), 0u);
  for (uint32_t i = 0; i < 20'000; ++i) {
    slabs.Append();
    const size_t needed = slabs.size() * slabs.row_bytes();
    ASSERT_LE(slabs.memory_bytes(),
              std::max<size_t>(16 << 10, std::min(2 * needed, needed + (256 << 10))));
  }
}

TEST(RowSlabsTest, ATableAtTheEdgeOfASlabKeepsOneThatIsEmpty) {
  RowSlabs slabs(/*floats=*/32);
  while (slabs.size() < 2000) {
    const size_t before = slabs.memory_bytes();
    slabs.Append();
    const size_t after = slabs.memory_bytes();
    slabs.Remove(slabs.size() - 1);
    EXPECT_EQ(slabs.memory_bytes(), after) << slabs.size() << " rows, " << before;
    slabs.Append();
  }
}

TEST(RowSlabsTest, TakeTheirMemoryFromAnArenaAndGiveItBack) {
  SlabArena arena;
  {
    RowSlabs one(/*floats=*/64, &arena);
    RowSlabs other(/*floats=*/64, &arena);
    for (uint32_t i = 0; i < 5'000; ++i) {
      one.at(one.Append()).key() = i;
      other.at(other.Append()).key() = i + 10'000;
    }
    for (uint32_t i = 0; i < 5'000; ++i) {
      ASSERT_EQ(one.at(i).key(), i);
      ASSERT_EQ(other.at(i).key(), i + 10'000);
    }
  }
  char* const freed = arena.Allocate(200 * 1024);
  arena.Free(freed, 200 * 1024);
  EXPECT_EQ(arena.Allocate(200 * 1024), freed);
}

TEST(RowSlabsTest, KeepARowThatIsTooLargeForAnArena) {
  SlabArena arena;
  const size_t floats = SlabArena::kMaxSlabBytes / 2;
  RowSlabs slabs(floats, &arena);
  for (uint32_t i = 0; i < 3; ++i) slabs.at(slabs.Append()).state()[floats - 1] = i;
  EXPECT_EQ(slabs.at(1).state()[floats - 1], 1);
}

}  // namespace
}  // namespace capstan
