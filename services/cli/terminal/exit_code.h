// The exit codes of the command.
#ifndef CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_
#define CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_

namespace capstan::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,    // The command began and did not end well, or could not reach what it needs.
  kBadInput = 2,  // Arguments, job.yaml or data were refused before anything began.
  // A signal ended the command while it waited for a job. (0 would say that the job was completed,
  // and 1 that it failed.)
  kInterrupted = 3,
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_EXIT_CODE_H_
