// Finds, before anything runs, what of a job does not fit into its pushes.
#ifndef CAPSTAN_CLIENT_SHARE_LIMIT_H_
#define CAPSTAN_CLIENT_SHARE_LIMIT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the bytes of a value in a push of a part with this policy. With `stale_gradients:
// compensate` a push carries also what its gradient was computed from.
size_t PushedValueBytes(const v1::JobSpec& job, const v1::UpdatePolicy& policy);

// Checks the size of a partition's share of the dense parameters, which goes in one push.
// INVALID_ARGUMENT, with the arithmetic: the share of a partition is too large, so that no step
// could ever be made. REQUIRES: `job` has its tables and tensors.
absl::Status CheckDenseShares(const v1::JobSpec& job);

// The same for the keys of a batch, if all of them were different; how many really are is only
// known when the batch is trained. Empty: even then they fit.
std::string SparseShareWarning(const v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_SHARE_LIMIT_H_
