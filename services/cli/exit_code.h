// What the command tells the shell.
#ifndef CAPSTAN_CLI_EXIT_CODE_H_
#define CAPSTAN_CLI_EXIT_CODE_H_

namespace capstan::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,    // It began, and did not end well; or could not reach what it needs.
  kBadInput = 2,  // Refused before anything began: arguments, job.yaml, data.
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_EXIT_CODE_H_
