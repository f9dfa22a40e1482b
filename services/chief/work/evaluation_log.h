// How an evaluation is told in the log.
#ifndef CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_
#define CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

using LogFields = std::vector<std::pair<std::string, std::string>>;

// The fields of a line for each set of held-out records, that of the first set first: a line with
// the metrics of all sets would have too many.
std::vector<LogFields> EvaluationLogFields(const v1::Evaluation& evaluation);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EVALUATION_LOG_H_
