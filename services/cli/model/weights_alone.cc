#include "cli/model/weights_alone.h"

#include "capstan/base/status.h"

namespace capstan::cli {

v1::JobSpec WithoutTraining(v1::JobSpec job) {
  job.clear_sparse_update();
  for (v1::TableSpec& table : *job.mutable_tables()) {
    table.clear_optimizer();
    table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    table.clear_expire_after_examples();
    table.clear_byte_budget();
  }
  for (v1::TensorSpec& tensor : *job.mutable_tensors()) {
    tensor.clear_optimizer();
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  }
  return job;
}

absl::StatusOr<std::unique_ptr<PartitionStore>> WeightsAlone(
    std::unique_ptr<PartitionStore> trained, const v1::JobSpec& job, const DenseLayout& layout) {
  // RestartProgress drops expired rows. Pulls of such rows give initial rows, but in the copy they
  // would not count as expired.
  for (const std::unique_ptr<Table>& table : trained->tables()) table->RestartProgress();
  CAPSTAN_ASSIGN_OR_RETURN(
      std::unique_ptr<PartitionStore> weights,
      PartitionStore::Create(WithoutTraining(job), layout, trained->partition()));
  CAPSTAN_RETURN_IF_ERROR(weights->TakeWeights(*trained));
  return weights;
}

}  // namespace capstan::cli
