// The chief as a process: plans the job, listens, and serves until it is asked to stop.
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_PROCESS_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_PROCESS_H_

#include "chief/shell/process_options.h"

namespace capstan::chief {

// Runs until SIGTERM or SIGINT or, with exit_when_done, until shortly after the job's end. Returns
// the exit code: 0: success, or a signal; 1: the job or the process has failed, or another chief
// has taken the job over; 2: bad input, unless serve_refusal is set.
int RunChief(const ProcessOptions& options);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_PROCESS_H_
