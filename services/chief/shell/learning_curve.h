// The learning curve as CSV: a line every second at first, more rarely later, and one for each
// evaluation.
#ifndef CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
#define CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_

#include <string>

#include "chief/state/chief_actions.h"

namespace capstan::chief {

// The first line: names of the columns.
std::string CurveHeader();

// One line, ending with a newline. Metrics that an evaluation does not have, and all of them
// without an evaluation, are empty.
std::string CurveLine(const AppendCurve& point);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
