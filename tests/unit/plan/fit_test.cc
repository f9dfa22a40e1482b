#include "capstan/plan/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

// A table of 16 floats a row, and nothing else, in 16 partitions.
v1::JobSpec SparseJob() {
  v1::JobSpec job;
  job.set_partition_count(16);
  job.mutable_train()->set_batch_size(10);
  job.mutable_train()->set_compute_threads(1);
  v1::TableSpec& table = *job.add_tables();
  table.set_name("rows");
  table.set_dim(16);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  return job;
}

// 72,000 rows of 72 bytes as they travel: 4.9 MiB a push.
constexpr uint64_t kKeys = 72'000;

TEST(FitTest, WithReplicasAShardHasRoomForBackupsToo) {
  v1::JobSpec job = DenseJob(1);
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 6'000'000), absl::OkStatus());
  job.set_replicas(1);
  EXPECT_THAT(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 3'000'000).message(),
              HasSubstr("replicas: 1"));
}

TEST(FitTest, DenseParametersThatAShardCannotHoldAreRefusedWithTheArithmetic) {
  const v1::JobSpec job = DenseJob(4);
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 9 << 20), absl::OkStatus());
  const absl::Status refused = CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 3 << 20);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  const std::string why(refused.message());
  EXPECT_THAT(why, HasSubstr("a shard of 1 has 3.0MiB of memory"));
  EXPECT_THAT(why, HasSubstr("take 3.8MiB: take more shards"));
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 5 << 20), absl::OkStatus());
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, /*shard_memory=*/0), absl::OkStatus())
      << "not known";
}

TEST(FitTest, ARoundThatWouldNeverBeCompleteIsRefused) {
  v1::JobSpec job = DenseJob(8);
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 48 << 20), absl::OkStatus());
  job.mutable_dense_update()->set_backup_workers(1);
  EXPECT_THAT(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 48 << 20).message(),
              HasSubstr("31MiB (8 of 3.8MiB), and 24MiB"));
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 48 << 20), absl::OkStatus());
}

TEST(FitTest, WithReplicasTheGradientsOfARoundWaitOnTheirBackupsToo) {
  v1::JobSpec job = DenseJob(8);
  job.mutable_dense_update()->set_backup_workers(1);
  ASSERT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 48 << 20), absl::OkStatus());
  job.set_replicas(1);
  EXPECT_THAT(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 48 << 20).message(),
              HasSubstr("and 12MiB, a quarter of a shard's memory beside as many that it backs up "
                        "(replicas: 1), may wait"));
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/4, 48 << 20), absl::OkStatus());
}

TEST(FitTest, WhatFitsByItselfAndNotTogetherIsRefusedWithTheSum) {
  v1::JobSpec job = DenseJob(3);
  job.mutable_dense_update()->set_backup_workers(1);
  v1::OptimizerSpec& optimizer = *job.mutable_tensors(0)->mutable_optimizer();
  optimizer.set_kind(v1::OPTIMIZER_KIND_ADAM);
  optimizer.set_beta1(.9);
  optimizer.set_beta2(.999);
  optimizer.set_epsilon(1e-8);
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 28 << 20), absl::OkStatus());
  const absl::Status refused = CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 23 << 20);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  const std::string why(refused.message());
  EXPECT_THAT(why, HasSubstr("a shard of 1 has 23MiB of memory, and what it holds at the same time "
                             "takes 28MiB: 11MiB dense parameters with the optimizer's slots + "
                             "3.8MiB the sum of the round + 11MiB gradients that wait + "));
  EXPECT_THAT(why, HasSubstr(" a push on its way: take more shards"));
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/2, 23 << 20), absl::OkStatus());
}

TEST(FitTest, RowsOfAnAggregateThatCannotWaitAreRefusedWithTheArithmetic) {
  v1::JobSpec job = SparseJob();
  job.mutable_sparse_update()->set_aggregate(8);
  EXPECT_EQ(CheckShardsFit(job, kKeys, /*shards=*/1, 80 << 20), absl::OkStatus());
  const absl::Status refused = CheckShardsFit(job, kKeys, /*shards=*/1, 64 << 20);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the gradients that wait on a shard are 40MiB (8 of 4.9MiB with 72000 "
                        "rows), and 32MiB, half of a shard's memory, may wait: the round or "
                        "aggregate would never be complete; take fewer lanes or a lower "
                        "update.aggregate, more shards, or give them more memory"));
  EXPECT_EQ(CheckShardsFit(job, kKeys, /*shards=*/2, 64 << 20), absl::OkStatus());
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 64 << 20), absl::OkStatus())
      << "it is not known how many there are";
}

TEST(FitTest, RowsOfARoundWithBackupsThatCannotWaitAreRefused) {
  v1::JobSpec job = SparseJob();
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_sparse_update()->set_lanes(8);
  EXPECT_EQ(CheckShardsFit(job, kKeys, /*shards=*/1, 64 << 20), absl::OkStatus())
      << "the lane whose turn it is always gets in";
  job.mutable_sparse_update()->set_backup_workers(1);
  EXPECT_THAT(std::string(CheckShardsFit(job, kKeys, /*shards=*/1, 64 << 20).message()),
              HasSubstr("40MiB (8 of 4.9MiB with 72000 rows), and 32MiB"));
}

TEST(FitTest, TheSumOfARoundHasARowForEachKeyOfABatch) {
  v1::JobSpec job = SparseJob();
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_sparse_update()->set_lanes(8);
  EXPECT_THAT(std::string(CheckShardsFit(job, kKeys, /*shards=*/1, 6 << 20).message()),
              HasSubstr("5.5MiB the sum of the round + "));
  EXPECT_EQ(CheckShardsFit(job, /*keys=*/0, /*shards=*/1, 6 << 20), absl::OkStatus());
}

TEST(FitTest, WhereNothingWaitsRowsAreNotCounted) {
  EXPECT_EQ(CheckShardsFit(SparseJob(), kKeys, /*shards=*/1, 2 << 20), absl::OkStatus());
}

}  // namespace
}  // namespace capstan
