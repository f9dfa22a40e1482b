// The checkpoints of a job, and which of them may go.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// One folder of the job's "checkpoints" folder.
struct ListedCheckpoint {
  std::string id;
  absl::Status status;    // Of its manifest; NOT_FOUND: it has none, so it is no checkpoint.
  v1::Manifest manifest;  // If the status is OK.
  uint64_t bytes = 0;     // Of all objects in the folder.
};

// `checkpoints`: that folder. By step, then by time; those without a readable manifest come first.
absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints);

// Ids that need not be kept: all but the `keep` newest, those of `exempt`, and what the chains of
// these need. One whose manifest cannot be read is kept if it is damaged, for people to look at;
// one without any is garbage, unless it is in `exempt`. A pure function.
std::vector<std::string> CheckpointsToPrune(absl::Span<const ListedCheckpoint> checkpoints,
                                            size_t keep, const std::set<std::string>& exempt);

// Deletes the manifest first: what is left after a crash is garbage, not a broken checkpoint.
absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
