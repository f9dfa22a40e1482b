// The values that a user's program gives its tensors, as a checkpoint of step 0, which shards load
// as any other.
#ifndef CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_
#define CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Writes the checkpoint `id` into `folder`, which is empty. `values` are those of job.tensors, one
// tensor after another. Slots are as their optimizers begin, and tables are empty. REQUIRES: there
// are as many values as the tensors have elements.
absl::Status WriteInitialCheckpoint(ObjectStore& folder, const std::string& id,
                                    const v1::JobSpec& job, absl::Span<const float> values);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_INITIAL_CHECKPOINT_H_
