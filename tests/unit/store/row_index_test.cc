#include "capstan/store/row_index.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

uint32_t FindKey(const RowIndex& index, const std::vector<uint64_t>& keys, uint64_t key) {
  return index.Find(index.TagOf(key), [&](uint32_t row) { return keys[row] == key; });
}

TEST(RowIndexTest, FindsWhatWasInsertedAndNothingElseWhileItGrows) {
  RowIndex index(/*table_seed=*/1);
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 5000; ++key) {
    ASSERT_EQ(FindKey(index, keys, key), RowIndex::kNone);
    keys.push_back(key);
    index.Insert(index.TagOf(key), static_cast<uint32_t>(key));
  }
  for (uint64_t key = 0; key < 5000; ++key) ASSERT_EQ(FindKey(index, keys, key), key);
  EXPECT_LE(index.memory_bytes(), 5000 * RowIndex::kMaxBytesPerRow);
}

TEST(RowIndexTest, TellsRowsOfTheSameTagApart) {
  RowIndex index(1);
  for (uint32_t row = 0; row < 20; ++row) index.Insert(/*tag=*/0xFFFFFFFF, row);
  for (uint32_t row = 0; row < 20; row += 2) index.Erase(0xFFFFFFFF, row);
  for (uint32_t row = 0; row < 20; ++row) {
    const uint32_t found = index.Find(0xFFFFFFFF, [row](uint32_t r) { return r == row; });
    EXPECT_EQ(found, row % 2 == 0 ? RowIndex::kNone : row);
  }
}

// Against a map, with few different tags and so that runs wrap around the end of the table.
TEST(RowIndexTest, SurvivesAnyMixOfInsertEraseAndRenumber) {
  RowIndex index(1);
  std::map<uint32_t, uint32_t> tags;  // By row.
  for (uint64_t step = 0; step < 20'000; ++step) {
    const uint64_t draw = Draw(3, 1, step);
    const auto row = static_cast<uint32_t>(draw % 64);
    const auto tag = static_cast<uint32_t>(0xFFFFFFF0u + (draw >> 8) % 16) * ((draw >> 20) % 3);
    const auto found = tags.find(row);
    if (found == tags.end()) {
      index.Insert(tag, row);
      tags[row] = tag;
    } else if ((draw >> 30) % 3 == 0 && !tags.contains(row + 64)) {
      index.Renumber(found->second, row, row + 64);
      tags[row + 64] = found->second;
      tags.erase(row);
    } else {
      index.Erase(found->second, row);
      tags.erase(row);
    }
    ASSERT_EQ(index.size(), tags.size());
    for (const auto& [r, t] : tags) {
      ASSERT_EQ(index.Find(t, [r = r](uint32_t other) { return other == r; }), r) << step;
    }
  }
}

}  // namespace
}  // namespace capstan
