// Rewrites a chain of deltas as one full checkpoint.
#ifndef CAPSTAN_CHECKPOINT_COMPACT_H_
#define CAPSTAN_CHECKPOINT_COMPACT_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// Reads the checkpoint at `uri` through its chain, and writes a full checkpoint named `id` beside
// it, with the same step, progress and metrics. One partition is in memory at a time. Returns the
// new manifest. ALREADY_EXISTS: there is a checkpoint of this name, which is not changed.
// INVALID_ARGUMENT: `id` is not "<step>-<id>". Other errors are those of CheckpointReader and the
// store. After an error there is no manifest, and the call can be repeated.
absl::StatusOr<v1::Manifest> CompactCheckpoint(const std::string& uri, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_COMPACT_H_
