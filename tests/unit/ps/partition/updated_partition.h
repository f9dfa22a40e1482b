// A partition to which the tests of its updates apply what they say.
#ifndef CAPSTAN_TESTS_UNIT_PS_PARTITION_UPDATED_PARTITION_H_
#define CAPSTAN_TESTS_UNIT_PS_PARTITION_UPDATED_PARTITION_H_

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/byte_budget.h"
#include "ps/partition/update_applier.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {

// Applies to one partition with a table of one column and two tensors of one weight, one of which
// is not trained. All are 0 at first, and trained by SGD with rate 1.
class UpdatedPartition : public testing::Test {
 protected:
  using PushPointer = std::shared_ptr<const PushMessage>;

  static constexpr BlockId kTrained{0};
  static constexpr BlockId kNotTrained{1};

  static v1::JobSpec AsyncJob() {
    v1::JobSpec job;
    job.set_job("updates");
    job.set_partition_count(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job);
    for (const v1::OptimizerKind kind : {v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_RUNNING}) {
      v1::TensorSpec& tensor = *job.add_tensors();
      tensor.set_name(v1::OptimizerKind_Name(kind));
      tensor.add_shape(1);
      tensor.mutable_optimizer()->set_kind(kind);
      if (kind == v1::OPTIMIZER_KIND_SGD) tensor.mutable_optimizer()->set_learning_rate(1);
    }
    return job;
  }

  void Use(const v1::JobSpec& job) {
    catalog_ = std::make_unique<Catalog>(*Catalog::Create(job));
    store_ = *PartitionStore::Create(job, catalog_->layout(), PartitionIndex{0});
    applier_ = std::make_unique<UpdateApplier>(*catalog_, metrics_);
    EXPECT_TRUE(applier_->Begin(store_.get(), /*observed=*/true).empty());
  }

  // Pushes to be filled in.
  static v1::PushRequest Empty() {
    v1::PushRequest push;
    push.mutable_stream()->set_stream(7);
    push.mutable_stage()->set_round(1);
    push.add_partitions();
    return push;
  }
  static v1::TableGradient& AddRow(v1::PushRequest& push, uint64_t key, float value,
                                   uint32_t table = 1) {
    v1::TableGradient& rows = *push.mutable_partitions(0)->add_tables();
    rows.set_table(table);
    rows.set_keys(&key, sizeof(key));
    rows.set_values(&value, sizeof(value));
    return rows;
  }
  static void AddBlock(v1::PushRequest& push, BlockId id, float value) {
    v1::BlockGradient& block = *push.mutable_partitions(0)->add_blocks();
    block.set_block(static_cast<uint32_t>(id));
    block.set_values(&value, sizeof(value));
  }

  PushPointer Read(const v1::PushRequest& push) {
    const grpc::Slice slice(push.SerializeAsString());
    auto message =
        PushMessage::Read(grpc::ByteBuffer(&slice, 1), *catalog_, waiting_.TryHold(slice.size()));
    CAPSTAN_CHECK(message.ok());
    return *std::move(message);
  }
  PushPointer ReadRow(uint64_t key, float value) {
    v1::PushRequest push = Empty();
    AddRow(push, key, value);
    return Read(push);
  }
  GradientHandle Keep(const PushPointer& push) { return applier_->Keep({push, 0}); }
  GradientHandle KeepRow(uint64_t key, float value) { return Keep(ReadRow(key, value)); }

  static Update UpdateOf(Part part, std::vector<Contribution> contributions) {
    Update update;
    update.part = part;
    update.contributions.assign(contributions.begin(), contributions.end());
    update.version = 1;
    return update;
  }
  bool CarryOut(const Update& update, absl::Time now = absl::UnixEpoch()) {
    Decision decision;
    decision.updates.push_back(update);
    return applier_->CarryOut(decision, now);
  }
  void AddAhead(Part part, GradientHandle handle, double weight, double running_weight = 1) {
    Decision decision;
    decision.additions.push_back({part, handle, weight, running_weight});
    EXPECT_TRUE(applier_->CarryOut(decision, absl::UnixEpoch()));
  }

  float Row(uint64_t key, uint32_t table = 1) const {
    float value = 0;
    store_->FindTable(TableId{table})->Pull({&key, 1}, &value);
    return value;
  }
  float BlockValue(BlockId id) const { return store_->blocks().Weights(id)[0]; }

  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  ByteBudget waiting_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<PartitionStore> store_;
  std::unique_ptr<UpdateApplier> applier_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_PARTITION_UPDATED_PARTITION_H_
