// A chain of deltas written anew as one full checkpoint.
#ifndef CAPSTAN_CHECKPOINT_COMPACT_H_
#define CAPSTAN_CHECKPOINT_COMPACT_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// Writes what the checkpoint at `uri` holds, read through its chain, as a full one of the name `id`
// beside it: the same step, progress and metrics. One partition is in memory at a time. Returns its
// manifest. Errors are CheckpointReader's and the store's; ALREADY_EXISTS if there is one of this
// name, which stays as it is, INVALID_ARGUMENT unless it is "<step>-<id>". What is broken off has
// no manifest, and can be begun again.
absl::StatusOr<v1::Manifest> CompactCheckpoint(const std::string& uri, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_COMPACT_H_
