// How far the job is, on its way from the chief through the workers' hands to the shards.
#ifndef CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_
#define CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_

#include <cstdint>

namespace capstan {

struct JobProgress {
  uint64_t examples = 0;  // Acknowledged in the whole job, as the chief told last,
  uint64_t seal = 0;      // and its seal of that.
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_
