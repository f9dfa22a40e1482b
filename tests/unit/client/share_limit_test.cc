#include "capstan/client/share_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using testing::HasSubstr;

v1::JobSpec JobOf(uint32_t partitions, uint32_t dense_floats, uint32_t batch, uint32_t dim) {
  v1::JobSpec job;
  job.set_partition_count(partitions);
  job.mutable_train()->set_batch_size(batch);
  job.mutable_data()->set_fields(1);
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_dim(dim);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(dense_floats);
  return job;
}

constexpr uint32_t kOf102Megabytes = 25'500'000;

TEST(ShareLimitTest, RefusesDenseParametersOfAPartitionThatNoPushHolds) {
  EXPECT_TRUE(CheckDenseShares(JobOf(1, kOf102Megabytes, 64, 8)).ok()) << "it comes in pieces";
  const absl::Status refused = CheckDenseShares(JobOf(1, 12 * kOf102Megabytes, 64, 8));
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("306000000 values, 1167 MiB, and may be 1024: raise partition_count"));
  v1::JobSpec compensating = JobOf(2, 12 * kOf102Megabytes, 64, 8);
  EXPECT_TRUE(CheckDenseShares(compensating).ok());
  compensating.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  EXPECT_FALSE(CheckDenseShares(compensating).ok()) << "a push carries both";
}

TEST(ShareLimitTest, WithReplicasTheLimitIsTheSame) {
  v1::JobSpec job = JobOf(1, kOf102Megabytes, 64, 8);
  job.set_replicas(1);
  EXPECT_TRUE(CheckDenseShares(job).ok()) << "what the backup is told comes in pieces, too";
}

TEST(ShareLimitTest, WarnsOfABatchWhoseKeysMayNotFit) {
  EXPECT_EQ(SparseShareWarning(JobOf(1, 10, 262'144, 128)), "") << "130 MiB";
  EXPECT_THAT(SparseShareWarning(JobOf(1, 10, 2'621'440, 128)), HasSubstr("1300 MiB each"));
  EXPECT_EQ(SparseShareWarning(JobOf(256, 10, 2'621'440, 128)), "");
}

TEST(ShareLimitTest, CountsTheNegativesOfABatchInTheirTable) {
  v1::JobSpec job = JobOf(1, 10, 1, 128);
  job.mutable_tables(0)->set_name("item");
  v1::FeatureSpec& item = *job.mutable_data()->add_features();
  item.set_name("shown");
  item.set_table("item");
  EXPECT_EQ(SparseShareWarning(job), "");
  job.mutable_data()->mutable_negatives()->set_feature("shown");
  job.mutable_data()->mutable_negatives()->set_per_batch(2'621'440);
  EXPECT_THAT(SparseShareWarning(job), HasSubstr("1300 MiB each"));
}

}  // namespace
}  // namespace capstan
