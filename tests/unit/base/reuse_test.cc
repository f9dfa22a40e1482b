#include "capstan/base/reuse.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ResizeForReuseTest, WhatGrowsALittleTakesLittleMore) {
  std::vector<int> values;
  ResizeForReuse(values, 1600);
  EXPECT_EQ(values.size(), 1600u);
  EXPECT_EQ(values.capacity(), 1700u);
  ResizeForReuse(values, 1701);
  EXPECT_EQ(values.size(), 1701u);
  EXPECT_LT(values.capacity(), 1850u) << "resize() would take 3,400";
}

TEST(ResizeForReuseTest, WhatFitsKeepsItsMemory) {
  std::vector<int> values;
  ResizeForReuse(values, 1600);
  const int* const memory = values.data();
  ResizeForReuse(values, 10);
  EXPECT_EQ(values.size(), 10u);
  ResizeForReuse(values, 1700);
  EXPECT_EQ(values.size(), 1700u);
  EXPECT_EQ(values.data(), memory);
}

}  // namespace
}  // namespace capstan
