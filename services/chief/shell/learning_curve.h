// The learning curve as CSV: a line every second at first, more rarely later, and one for each
// evaluation.
#ifndef CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
#define CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_

#include <string>

#include "chief/state/chief_actions.h"

namespace capstan::chief {

// Returns the first line: the names of the columns.
std::string CurveHeader();

// Returns the curve with this version's names of columns. Lines of an earlier version are shorter,
// for versions add columns only behind those that there were.
std::string UnderCurveHeader(const std::string& curve);

// Returns the lines of a point, each ending with a newline: one for each scope but the empty one,
// which name it in the column `eval_set`, and then that of the first set of held-out records.
// Metrics that an evaluation does not have are empty, as are all without an evaluation, and an
// unknown training loss.
std::string CurveLines(const AppendCurve& point);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
