// The learning curve as CSV: a line every second at first, more rarely later, and one for each
// evaluation.
#ifndef CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
#define CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_

#include <string>

#include "chief/state/chief_actions.h"

namespace capstan::chief {

// The first line: names of the columns.
std::string CurveHeader();

// The curve that another version began, under the names of this one's columns: versions add theirs
// behind those that there were, so its lines are shorter.
std::string UnderCurveHeader(const std::string& curve);

// One line, ending with a newline, behind one for each further set of held-out records; these have
// its name in the column `eval_set`. Metrics that an evaluation does not have, and all of them
// without an evaluation, are empty, and so is a training loss that is not known.
std::string CurveLines(const AppendCurve& point);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARNING_CURVE_H_
