// Limits the length of the texts in workers' reports, which are displayed, logged and stored. A
// report is shortened rather than refused.
#ifndef CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
#define CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_

#include <optional>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Returns the report with "..." where long texts were cut, and only the first examples of bad
// records; nullopt if nothing had to be cut.
std::optional<v1::LeaseReport> Shortened(const v1::LeaseReport& report);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
