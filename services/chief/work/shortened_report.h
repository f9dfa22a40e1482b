// What workers say in words is shown, logged and kept, so it is cut to a length that all of it may
// have; a report is not refused for it.
#ifndef CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
#define CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_

#include <optional>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// The report with its longer texts cut, which "..." shows, and of the examples of bad records the
// first ones only. Nothing: it may stay as it is.
std::optional<v1::LeaseReport> Shortened(const v1::LeaseReport& report);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
