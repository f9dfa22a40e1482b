// Reduces a model to what scores are computed from, without what only training needs.
#ifndef CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_
#define CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Returns the job with optimizers that have no slots, and without the sparse update policy and the
// settings for expiry and byte budget of rows.
v1::JobSpec WithoutTraining(v1::JobSpec job);

// Returns a partition of WithoutTraining(job) that gives the same rows and dense weights as
// `trained`, bit by bit, without slots of optimizers, versions and expired rows. With Adam it takes
// about a third of the memory. `job` and `layout` are those of `trained`.
absl::StatusOr<std::unique_ptr<PartitionStore>> WeightsAlone(
    std::unique_ptr<PartitionStore> trained, const v1::JobSpec& job, const DenseLayout& layout);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_
