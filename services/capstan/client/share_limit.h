// What of a job does not fit into the pushes that carry it, before anything runs.
#ifndef CAPSTAN_CLIENT_SHARE_LIMIT_H_
#define CAPSTAN_CLIENT_SHARE_LIMIT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What a value takes in a push of a part with this policy. With `stale_gradients: compensate` a
// push carries what its gradient was computed from, too.
size_t PushedValueBytes(const v1::JobSpec& job, const v1::UpdatePolicy& policy);

// A partition's share of the dense parameters goes in one push. INVALID_ARGUMENT, with the
// arithmetic, if that of one partition is too large, so that no step could ever be made.
// `job` has its tables and tensors.
absl::Status CheckDenseShares(const v1::JobSpec& job);

// The same of a batch's keys, were all of them different; how many are is seen when it is trained.
// Empty: even so they fit.
std::string SparseShareWarning(const v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_SHARE_LIMIT_H_
