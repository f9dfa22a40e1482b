// Identifies the records that an evaluation has measured. Metrics can be compared only if these are
// the same, and the held-out records of a job may be changed while the job exists.
#ifndef CAPSTAN_CHIEF_WORK_HELD_OUT_H_
#define CAPSTAN_CHIEF_WORK_HELD_OUT_H_

#include <cstdint>
#include <limits>

#include "capstan/v1/job.pb.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Returns the fingerprint of the plan's held-out records. It depends on their files, sets and
// groups, but not on how they are cut into tasks. It is 0 only if nothing is held out.
uint64_t HeldOutFingerprint(const JobPlan& plan);

// The fingerprint of records that are not known any more. It differs from that of every plan.
inline constexpr uint64_t kUnknownHeldOut = std::numeric_limits<uint64_t>::max();

// Returns true if the two jobs name the same held-out files, sets of them and groups.
bool SameHeldOut(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns the fingerprint of the records that some metrics were measured on. `stored` is the
// fingerprint that a chief of the job `before` has stored with them. Earlier versions stored 0:
// then the records were those of `plan` if `before` and `plan` name the same held-out records, and
// the result is kUnknownHeldOut if not. That value is returned unchanged once it is stored.
uint64_t MeasuredOn(uint64_t stored, const v1::JobSpec& before, const JobPlan& plan);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_HELD_OUT_H_
