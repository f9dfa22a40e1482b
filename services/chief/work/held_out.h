// Which records an evaluation has measured: metrics compare only where these are the same, and a
// job may get other ones while it exists.
#ifndef CAPSTAN_CHIEF_WORK_HELD_OUT_H_
#define CAPSTAN_CHIEF_WORK_HELD_OUT_H_

#include <cstdint>
#include <limits>

#include "capstan/v1/job.pb.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Returns the fingerprint of the plan's held-out records, by their files, sets and groups, however
// they are cut into tasks. 0 only if nothing is held out.
uint64_t HeldOutFingerprint(const JobPlan& plan);

// Stands for records of which nobody knows any more which they were. They are not those of any
// plan.
inline constexpr uint64_t kUnknownHeldOut = std::numeric_limits<uint64_t>::max();

// Returns true if the two jobs name the same held-out files, sets of them and groups.
bool SameHeldOut(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns the fingerprint of the records that metrics were measured on, of which `stored` was
// stored by a chief of the job `before`. An earlier version has stored 0: these were the records of
// `plan` if the two jobs name the same ones, and kUnknownHeldOut if not, which stays so when this
// is stored and asked again.
uint64_t MeasuredOn(uint64_t stored, const v1::JobSpec& before, const JobPlan& plan);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_HELD_OUT_H_
