// Reads the weights of a checkpoint, some partitions at a time.
#ifndef CAPSTAN_CLI_MODEL_READ_WEIGHTS_H_
#define CAPSTAN_CLI_MODEL_READ_WEIGHTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/store/partition_store.h"

namespace capstan::cli {

// Returns all partitions in their order, as WeightsAlone makes them. Up to four threads read; all
// except the caller's have a low priority, as requests may be answered meanwhile. Errors are those
// of CheckpointReader.
absl::StatusOr<std::vector<std::unique_ptr<PartitionStore>>> ReadWeights(
    const CheckpointReader& reader);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_READ_WEIGHTS_H_
