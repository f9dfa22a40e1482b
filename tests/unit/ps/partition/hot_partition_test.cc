#include "ps/partition/hot_partition.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

TEST(HotPartitionTest, NamesTheOneThatIsUpdatedMostAndItsShare) {
  HotPartition hot;
  hot.Look({{0, 1000}, {5, 0}, {9, 0}});
  const HotPartition::Hottest hottest = hot.Look({{0, 1010}, {5, 30}, {9, 10}});
  EXPECT_EQ(hottest.partition, 5u);
  EXPECT_DOUBLE_EQ(hottest.share, 0.6);
}

TEST(HotPartitionTest, WhatHappenedBeforeTheFirstLookCountsForNothing) {
  HotPartition hot;
  EXPECT_EQ(hot.Look({{0, 1000}, {1, 1}}).share, 0);
}

TEST(HotPartitionTest, APartitionThatWasLoadedAnewIsNotTakenForAHotOne) {
  HotPartition hot;
  hot.Look({{0, 5000}, {1, 5000}});
  const HotPartition::Hottest hottest = hot.Look({{0, 10}, {1, 5020}});
  EXPECT_EQ(hottest.partition, 1u);
  EXPECT_DOUBLE_EQ(hottest.share, 1);
}

TEST(HotPartitionTest, ForgetsPartitionsThatHaveGone) {
  HotPartition hot;
  hot.Look({{0, 0}, {1, 0}});
  hot.Look({{0, 900}, {1, 100}});
  EXPECT_EQ(hot.Look({{1, 200}}).partition, 1u);
}

}  // namespace
}  // namespace capstan::ps
