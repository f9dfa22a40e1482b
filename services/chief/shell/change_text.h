// In what two jobs differ, in the words of job.yaml.
#ifndef CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_
#define CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_

#include <string>

#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// A line for each key: "train.batch_size: 128 -> 256". What follows from another difference (the
// tables and tensors of another model, the towers of another preset) is left out. Empty: they are
// the same. A pure function.
std::string ChangeText(v1::JobSpec before, v1::JobSpec now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHANGE_TEXT_H_
