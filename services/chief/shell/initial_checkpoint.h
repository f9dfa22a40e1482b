// Writes the initial values that a user's program gives its tensors as a checkpoint of step 0,
// which shards load like any other.
#ifndef CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_
#define CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Writes the checkpoint `id` into `folder`, which must be empty. `values` are the elements of
// job.tensors, one tensor after another. Slots have their optimizers' initial values, and tables
// are empty. REQUIRES: the number of values is the number of elements of the tensors.
absl::Status WriteInitialCheckpoint(ObjectStore& folder, const std::string& id,
                                    const v1::JobSpec& job, absl::Span<const float> values);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_
