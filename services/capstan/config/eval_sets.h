// The held-out records of a job, and the sets of them on which it is measured separately.
#ifndef CAPSTAN_CONFIG_EVAL_SETS_H_
#define CAPSTAN_CONFIG_EVAL_SETS_H_

#include <string>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns true if the job has held-out records.
bool HasHeldOut(const v1::DataSpec& data);

struct EvalFiles {
  std::string name;  // Empty if the job has only one set, which has no name.
  std::vector<std::string> files;
};

// Returns the sets in the order of the job. Synthetic data have one set without files.
std::vector<EvalFiles> EvalSetsOf(const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_EVAL_SETS_H_
