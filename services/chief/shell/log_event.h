// Writes the machine's log lines.
#ifndef CAPSTAN_CHIEF_SHELL_LOG_EVENT_H_
#define CAPSTAN_CHIEF_SHELL_LOG_EVENT_H_

#include "chief/state/chief_actions.h"

namespace capstan::chief {

// REQUIRES: at most kMaxLogFields fields.
inline constexpr size_t kMaxLogFields = 12;
void WriteLog(const LogEvent& event);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LOG_EVENT_H_
