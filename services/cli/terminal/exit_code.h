// What the command tells the shell.
#ifndef CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_
#define CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_

namespace capstan::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,    // It began, and did not end well; or could not reach what it needs.
  kBadInput = 2,  // Refused before anything began: arguments, job.yaml, data.
  // Ended by a signal before what it waited for: 0 says that a job was completed, and 1 that it was
  // not.
  kInterrupted = 3,
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_
