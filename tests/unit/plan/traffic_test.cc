#include "capstan/plan/traffic.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

Traffic TrafficWith(const v1::JobSpec& job, uint64_t keys, int shards) {
  const absl::StatusOr<Traffic> traffic = TrafficOf(job, keys, shards);
  EXPECT_TRUE(traffic.ok()) << traffic.status();
  return traffic.value_or(Traffic());
}

void AddTableOf(v1::JobSpec& job, uint32_t id, uint32_t dim) {
  v1::TableSpec& table = *job.add_tables();
  table.set_id(id);
  table.set_name("t");
  table.set_dim(dim);
  table.add_segments()->set_width(dim);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
}

v1::JobSpec TableJob() {
  v1::JobSpec job;
  job.set_partition_count(16);
  AddTableOf(job, 0, 2);
  AddTableOf(job, 1, 8);
  return job;
}

TEST(TrafficTest, DenseFloatsGoToTheShardsThatHaveThem) {
  const Traffic one = TrafficWith(DenseJob(4), /*keys=*/0, /*shards=*/1);
  EXPECT_EQ(one.worker.floats, 1'000'000u);
  EXPECT_EQ(one.worker.rows, 0u);
  EXPECT_EQ(one.worker.pulled_bytes, 4'000'000u);
  EXPECT_EQ(one.worker.pushed_bytes, 4'000'000u);
  EXPECT_EQ(one.busiest.pulled_bytes, one.worker.pulled_bytes);
  EXPECT_LE(one.worker.largest_push_bytes, one.worker.pushed_bytes);
  EXPECT_GE(one.worker.largest_push_bytes * one.worker.calls, one.worker.pushed_bytes);
  const Traffic four = TrafficWith(DenseJob(4), /*keys=*/0, /*shards=*/4);
  EXPECT_EQ(four.worker.floats, 1'000'000u);
  EXPECT_GE(four.busiest.floats, 250'000u);
  EXPECT_LT(four.busiest.floats, 500'000u);
  EXPECT_GE(four.worker.calls, 4u);
}

TEST(TrafficTest, ARowIsItsKeyAndTheValuesOfTheWidestTable) {
  const Traffic rows = TrafficWith(TableJob(), /*keys=*/1000, /*shards=*/2);
  EXPECT_EQ(rows.worker.rows, 1000u);
  EXPECT_EQ(rows.worker.pulled_bytes, 1000u * (8 + 8 * 4));
  EXPECT_EQ(rows.worker.pushed_bytes, 1000u * (8 + 8 * 4));
  EXPECT_GE(rows.busiest.rows, 500u);
  EXPECT_LT(rows.busiest.rows, 1000u);
}

TEST(TrafficTest, HalfTheBytesTravelAsBfloat16ButForTheKeys) {
  v1::JobSpec job = TableJob();
  job.mutable_train()->set_wire_dtype(v1::DTYPE_BFLOAT16);
  EXPECT_EQ(TrafficWith(job, 1000, 2).worker.pulled_bytes, 1000u * (8 + 8 * 2));
}

TEST(TrafficTest, ABatchWithoutKeysAsksForNoRows) {
  EXPECT_EQ(TrafficWith(TableJob(), 0, 2).worker.rows, 0u);
  EXPECT_EQ(TrafficWith(TableJob(), 0, 2).worker.pulled_bytes, 0u);
}

TEST(TrafficTest, MoreShardsThanPartitionsAreIdle) {
  const Traffic crowded = TrafficWith(DenseJob(4), /*keys=*/0, /*shards=*/16);
  const Traffic idle = TrafficWith(DenseJob(4), /*keys=*/0, /*shards=*/40);
  EXPECT_EQ(idle.worker.floats, crowded.worker.floats);
  EXPECT_EQ(idle.busiest.floats, crowded.busiest.floats);
}

}  // namespace
}  // namespace capstan
