// Which changes of a job a shard takes up, and which make it another job to it.
#include "ps/partition/catalog.h"

#include <gtest/gtest.h>

#include <functional>

namespace capstan::ps {
namespace {

using Change = std::function<void(v1::JobSpec&)>;

v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_job("clicks");
  job.set_seed(7);
  job.set_partition_count(4);
  job.mutable_train()->set_batch_size(8);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_dense_update()->set_lanes(3);
  v1::TableSpec& table = *job.add_tables();
  table.set_name("ids");
  table.set_dim(2);
  table.mutable_optimizer()->set_learning_rate(0.1F);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("bias");
  tensor.add_shape(1);
  return job;
}

bool IsSameAfter(const Change& change) {
  const Catalog catalog = *Catalog::Create(Job());
  v1::JobSpec changed = Job();
  change(changed);
  return catalog.IsOf(changed);
}

TEST(CatalogTest, WhatMayChangeWhileAJobGoesOnIsNotKept) {
  EXPECT_TRUE(IsSameAfter([](v1::JobSpec&) {}));
  EXPECT_TRUE(IsSameAfter([](v1::JobSpec& job) { job.mutable_train()->set_max_steps(9); }));
  EXPECT_TRUE(IsSameAfter([](v1::JobSpec& job) { job.mutable_train()->set_epochs(9); }));
  EXPECT_TRUE(IsSameAfter([](v1::JobSpec& job) { job.mutable_lease()->set_heartbeat_seconds(9); }));
  EXPECT_TRUE(IsSameAfter([](v1::JobSpec& job) { job.mutable_checkpoint()->set_keep(9); }));
  v1::JobSpec job = Job();
  job.mutable_train()->set_max_steps(9);
  EXPECT_EQ(Catalog::Create(job)->job().train().max_steps(), 0u);
}

TEST(CatalogTest, APartitionThatTheJobHasNotIsRefusedByItsNumber) {
  const Catalog catalog = *Catalog::Create(Job());
  EXPECT_TRUE(catalog.CheckPartition(3).ok());
  const absl::Status refused = catalog.CheckPartition(4);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_EQ(refused.message(), "there is no partition 4: the job has 4");
}

TEST(CatalogTest, WhatAShardTrainsByMakesAnotherJobOfIt) {
  const Change changes[] = {
      [](v1::JobSpec& job) { job.set_seed(8); },
      [](v1::JobSpec& job) { job.set_partition_count(8); },
      [](v1::JobSpec& job) { job.set_replicas(1); },
      [](v1::JobSpec& job) { job.mutable_dense_update()->set_lanes(4); },
      [](v1::JobSpec& job) { job.mutable_sparse_update()->set_aggregate(2); },
      [](v1::JobSpec& job) { job.mutable_tables(0)->set_dim(3); },
      [](v1::JobSpec& job) { job.mutable_tables(0)->mutable_optimizer()->set_learning_rate(0.2F); },
      [](v1::JobSpec& job) { job.mutable_tensors(0)->set_shape(0, 2); },
      [](v1::JobSpec& job) { job.mutable_train()->set_batch_size(9); },
      [](v1::JobSpec& job) { job.mutable_train()->set_sum_loss(true); },
  };
  for (const Change& change : changes) {
    v1::JobSpec changed = Job();
    change(changed);
    EXPECT_FALSE(IsSameAfter(change)) << changed.ShortDebugString();
  }
}

}  // namespace
}  // namespace capstan::ps
