// The texts in workers' reports are shown, logged and kept, so they are cut to a bounded length. A
// report is not refused because its texts are long.
#ifndef CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
#define CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_

#include <optional>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Returns the report with "..." where long texts were cut, and only the first examples of bad
// records. Nothing: the report needs no cut.
std::optional<v1::LeaseReport> Shortened(const v1::LeaseReport& report);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_SHORTENED_REPORT_H_
