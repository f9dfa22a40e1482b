#include "capstan/data/tasks/batch_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;

std::vector<uint64_t> SizesOf(const BatchCut& cut, uint64_t records) {
  std::vector<uint64_t> sizes;
  for (uint64_t k = 0; k < cut.CountOf(records); ++k) {
    sizes.push_back(cut.BeginOf(k + 1, records) - cut.BeginOf(k, records));
  }
  return sizes;
}

TEST(BatchCutTest, TheLastBatchHasWhatRemains) {
  EXPECT_THAT(SizesOf({.size = 4}, 10), ElementsAre(4, 4, 2));
  EXPECT_THAT(SizesOf({.size = 4}, 9), ElementsAre(4, 4, 1));
  EXPECT_THAT(SizesOf({.size = 4}, 0), ElementsAre());
}

TEST(BatchCutTest, WhereLessThanHalfABatchWouldRemainTheLastTwoShareTheirRecords) {
  EXPECT_THAT(SizesOf({.size = 4, .shares_end = true}, 9), ElementsAre(4, 3, 2));
  EXPECT_THAT(SizesOf({.size = 5, .shares_end = true}, 6), ElementsAre(3, 3));
  EXPECT_THAT(SizesOf({.size = 125, .shares_end = true}, 501), ElementsAre(125, 125, 125, 63, 63));
  EXPECT_THAT(SizesOf({.size = 125, .shares_end = true}, 187), ElementsAre(94, 93));
  EXPECT_THAT(SizesOf({.size = 125, .shares_end = true}, 188), ElementsAre(125, 63));
  EXPECT_THAT(SizesOf({.size = 4, .shares_end = true}, 10), ElementsAre(4, 4, 2));
  EXPECT_THAT(SizesOf({.size = 4, .shares_end = true}, 8), ElementsAre(4, 4));
}

TEST(BatchCutTest, WhatCannotBeSharedStaysABatchOfOneRecord) {
  EXPECT_THAT(SizesOf({.size = 4, .shares_end = true}, 1), ElementsAre(1));
  EXPECT_THAT(SizesOf({.size = 1, .shares_end = true}, 2), ElementsAre(1, 1));
  EXPECT_THAT(SizesOf({.size = 2, .shares_end = true}, 3), ElementsAre(2, 1));
}

TEST(BatchCutTest, EachRecordIsInOneBatchOfAsManyBatchesAsWithoutSharing) {
  for (uint32_t size = 1; size <= 40; ++size) {
    const BatchCut cut{.size = size, .shares_end = true};
    for (uint64_t records = 0; records <= 5 * size + 2; ++records) {
      const BatchCut plain{.size = size};
      ASSERT_EQ(cut.CountOf(records), plain.CountOf(records)) << records << " of " << size;
      ASSERT_EQ(cut.BeginOf(0, records), 0u);
      ASSERT_EQ(cut.BeginOf(cut.CountOf(records), records), records) << records << " of " << size;
      for (const uint64_t batch : SizesOf(cut, records)) {
        ASSERT_LE(batch, size) << records << " of " << size;
        ASSERT_GE(2 * batch, std::min<uint64_t>(records, size)) << records << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace capstan
