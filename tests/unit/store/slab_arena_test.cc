#include "capstan/store/slab_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace capstan {
namespace {

constexpr size_t kLargest = SlabArena::kMaxSlabBytes;

TEST(SlabArenaTest, SlabsBeginWithACacheLineAndDoNotOverlap) {
  SlabArena arena;
  const std::vector<size_t> sizes = {1, 64, 65, 100, kLargest, 1};
  std::vector<char*> slabs;
  for (const size_t bytes : sizes) {
    slabs.push_back(arena.Allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slabs.back()) % 64, 0u) << bytes;
    std::memset(slabs.back(), static_cast<int>(slabs.size()), bytes);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(slabs[i][0], static_cast<char>(i + 1));
    EXPECT_EQ(slabs[i][sizes[i] - 1], static_cast<char>(i + 1));
    arena.Free(slabs[i], sizes[i]);
  }
}

TEST(SlabArenaTest, AFreedSlabIsGivenToTheNextOfItsSizeAndToNoOther) {
  SlabArena arena;
  char* const first = arena.Allocate(1000);
  arena.Free(first, 1000);
  char* const smaller = arena.Allocate(100);
  EXPECT_NE(smaller, first);
  char* const same = arena.Allocate(1001);
  EXPECT_EQ(same, first) << "both are rounded to 1024 bytes";
  arena.Free(smaller, 100);
  arena.Free(same, 1001);
}

// A region has 64 MiB.
TEST(SlabArenaTest, GoesOnInAnotherRegionWhereOneIsFull) {
  SlabArena arena;
  std::set<char*> slabs;
  for (int i = 0; i < 70; ++i) {
    char* const slab = arena.Allocate(kLargest - 64);
    slab[0] = slab[kLargest - 65] = 'x';
    EXPECT_TRUE(slabs.insert(slab).second);
  }
  for (char* const slab : slabs) arena.Free(slab, kLargest - 64);
}

}  // namespace
}  // namespace capstan
