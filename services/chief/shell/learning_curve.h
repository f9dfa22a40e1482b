// The learning curve as CSV: a line every second at first, more rarely later, and one for each
// evaluation.
#ifndef CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
#define CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_

#include <string>

#include "chief/state/chief_actions.h"

namespace capstan::chief {

// Returns the first line: the names of the columns.
std::string CurveHeader();

// Returns the curve with the column names of this version. Lines of earlier versions are shorter,
// as versions only add columns at the end.
std::string UnderCurveHeader(const std::string& curve);

// Returns the lines of a point, each ending with a newline: one for each scope but the empty one,
// with the scope in the column `eval_set`, and then that of the first set of held-out records.
// Metrics that the evaluation does not have are empty, as are all metrics without an evaluation,
// and an unknown training loss.
std::string CurveLines(const AppendCurve& point);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
