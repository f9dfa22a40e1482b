#include "capstan/data/tasks/task_size.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan {
namespace {

TEST(TaskBytesTest, WhatTheJobSaysCounts) {
  v1::DataSpec data;
  data.set_task_bytes(7);
  EXPECT_EQ(TaskBytes(data, 0), 7u);
  EXPECT_EQ(TaskBytes(data, uint64_t{1} << 60), 7u);
}

TEST(TaskBytesTest, AnEighthOfTheTextIsATaskUpToEightMebibytes) {
  const v1::DataSpec data;
  EXPECT_EQ(TaskBytes(data, 0), 0u);
  EXPECT_EQ(TaskBytes(data, 1), 1u);
  EXPECT_EQ(TaskBytes(data, 80), 10u);
  EXPECT_EQ(TaskBytes(data, 81), 11u);
  EXPECT_EQ(TaskBytes(data, uint64_t{64} << 20), uint64_t{8} << 20);
  EXPECT_EQ(TaskBytes(data, uint64_t{1} << 60), uint64_t{8} << 20);
}

TEST(TaskRecordsTest, AnEighthOfTheRecordsIsATaskUpToSixtyFourThousand) {
  v1::DataSpec data;
  EXPECT_EQ(TaskRecords(data, 0), 0u);
  EXPECT_EQ(TaskRecords(data, 9), 2u);
  EXPECT_EQ(TaskRecords(data, uint64_t{1} << 60), 65536u);
  data.set_task_records(3);
  EXPECT_EQ(TaskRecords(data, 9), 3u);
}

TEST(TaskRecordsTest, ATaskFitsIntoThirtyTwoMebibytes) {
  v1::DataSpec data;
  data.set_dense_width(1000);  // 16 + 4 * 1000 bytes a record.
  EXPECT_EQ(TaskRecords(data, uint64_t{1} << 30), 8355u);
  data.set_dense_width(0);
  data.set_fields(100);
  for (int i = 0; i < 20; ++i) data.add_features();  // 16 + 12 * 120 bytes.
  EXPECT_EQ(TaskRecords(data, uint64_t{1} << 30), 23045u);
}

TEST(TaskRecordsTest, ARecordThatDoesNotFitIsATaskOfItsOwn) {
  v1::DataSpec data;
  data.set_dense_width(uint32_t{1} << 24);  // 64 MiB a record.
  EXPECT_EQ(TaskRecords(data, 1000), 1u);
}

}  // namespace
}  // namespace capstan
