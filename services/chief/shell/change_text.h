// Describes the differences between two jobs in the terms of job.yaml.
#ifndef CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_
#define CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_

#include <string>

#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns a line for each key that differs, such as "train.batch_size: 128 -> 256"; empty if the
// jobs are the same. Omits differences that merely follow from another one, such as the tables and
// tensors of another model, or the towers of another preset. A pure function.
std::string ChangeText(v1::JobSpec before, v1::JobSpec now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_
