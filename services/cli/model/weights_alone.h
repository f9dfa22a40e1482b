// What scores are computed from, without what training keeps beside it.
#ifndef CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_
#define CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// The job with optimizers that have no slots, and without all that says how rows come and go.
v1::JobSpec WithoutTraining(v1::JobSpec job);

// Returns a partition of WithoutTraining(job) that gives the rows and the dense weights that
// `trained` gives, bit by bit, and has no slots of optimizers, versions or rows that have expired:
// with Adam some third of the memory. `job`, `layout`: those of the one that is trained.
absl::StatusOr<std::unique_ptr<PartitionStore>> WeightsAlone(
    std::unique_ptr<PartitionStore> trained, const v1::JobSpec& job, const DenseLayout& layout);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_WEIGHTS_ALONE_H_
