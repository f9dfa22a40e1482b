// Finds out, before a job runs, whether its pushes would be too large.
#ifndef CAPSTAN_CLIENT_SHARE_LIMIT_H_
#define CAPSTAN_CLIENT_SHARE_LIMIT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the size in bytes of a value in a push of a part with this policy. With `stale_gradients:
// compensate` a push also carries the weights from which its gradient was computed.
size_t PushedValueBytes(const v1::JobSpec& job, const v1::UpdatePolicy& policy);

// Checks the size of a partition's share of the dense parameters, which is sent in one push.
// INVALID_ARGUMENT, with the calculation: the share of a partition is too large, so no step could
// ever be made. REQUIRES: `job` has its tables and tensors.
absl::Status CheckDenseShares(const v1::JobSpec& job);

// The same for the keys of a batch, assuming that all of them are different; how many really are is
// only known when the batch is trained. Returns an empty text if they fit even then.
std::string SparseShareWarning(const v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_SHARE_LIMIT_H_
