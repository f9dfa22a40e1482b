// How an evaluation is written to the log.
#ifndef CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_
#define CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

using LogFields = std::vector<std::pair<std::string, std::string>>;

// Returns the fields of the log lines, one line for each scope, the first set of held-out records
// first. A single line with all metrics would be too long.
std::vector<LogFields> EvaluationLogFields(const v1::Evaluation& evaluation);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_
