#include "chief/state/partition_loads.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

const absl::Time kFirstReport = absl::UnixEpoch();

v1::View ViewOf(std::initializer_list<uint32_t> owners) {
  v1::View view;
  for (uint32_t owner : owners) view.add_owners(owner);
  return view;
}

v1::ShardReport ReportOf(uint32_t partition, uint64_t bytes, uint64_t rows) {
  v1::ShardReport report;
  v1::PartitionLoad& load = *report.add_partitions();
  load.set_partition(partition);
  load.set_bytes(bytes);
  load.set_pulled_rows(rows / 2);
  load.set_pushed_rows(rows - rows / 2);
  return report;
}

TEST(PartitionLoadsTest, TheLoadIsTheRateOfLate) {
  PartitionLoads loads(2);
  const v1::View view = ViewOf({0, 1});
  for (int second = 0; second <= 60; ++second) {
    loads.Hear(0, 7, ReportOf(0, 1000, 50 * static_cast<uint64_t>(second)), view,
               kFirstReport + absl::Seconds(second));
  }
  EXPECT_EQ(loads.bytes(0), 1000u);
  EXPECT_NEAR(loads.weights()[0].load, 50, 1);
  EXPECT_EQ(loads.OfShard(0, view).bytes, 1000u);
  EXPECT_EQ(loads.OfShard(1, view).load, 0);
}

TEST(PartitionLoadsTest, WhatIsSaidOfPartitionsOfOthersDoesNotCount) {
  PartitionLoads loads(2);
  loads.Hear(0, 7, ReportOf(1, 1000, 0), ViewOf({0, 1}), kFirstReport);
  loads.Hear(0, 7, ReportOf(9, 1000, 0), ViewOf({0, 1}), kFirstReport);
  EXPECT_EQ(loads.bytes(1), 0u);
}

TEST(PartitionLoadsTest, ThoughItsOwnerCountsAnewAPartitionThatHasMovedIsAsBusyAsBefore) {
  PartitionLoads loads(1);
  loads.Hear(0, 7, ReportOf(0, 1000, 0), ViewOf({0}), kFirstReport);
  loads.Hear(0, 7, ReportOf(0, 1000, 1000), ViewOf({0}), kFirstReport + absl::Seconds(10));
  const double before = loads.weights()[0].load;
  EXPECT_GT(before, 50);
  loads.Hear(1, 8, ReportOf(0, 1000, 3), ViewOf({1}), kFirstReport + absl::Seconds(11));
  EXPECT_EQ(loads.weights()[0].load, before);
  loads.Hear(1, 8, ReportOf(0, 1000, 103), ViewOf({1}), kFirstReport + absl::Seconds(12));
  EXPECT_GT(loads.weights()[0].load, before);
}

}  // namespace
}  // namespace capstan::chief
