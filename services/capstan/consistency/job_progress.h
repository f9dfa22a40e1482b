// The progress of the job. The chief tells workers, and they pass it on to the shards.
#ifndef CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_
#define CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_

#include <cstdint>

namespace capstan {

struct JobProgress {
  uint64_t examples = 0;  // Acknowledged in the whole job, as last told by the chief.
  uint64_t seal = 0;      // The chief's seal of `examples`.
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_JOB_PROGRESS_H_
