// The held-out records of a job, and the sets of them that it measures apart.
#ifndef CAPSTAN_CONFIG_EVAL_SETS_H_
#define CAPSTAN_CONFIG_EVAL_SETS_H_

#include <string>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns whether there are any.
bool HasHeldOut(const v1::DataSpec& data);

struct EvalFiles {
  std::string name;  // Empty: the job has one set, which has no name.
  std::vector<std::string> files;
};

// In the order of the job; synthetic data have one set without files.
std::vector<EvalFiles> EvalSetsOf(const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_EVAL_SETS_H_
