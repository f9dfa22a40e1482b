// `capstan train`: a whole job on this machine, from its file to its last words.
#ifndef CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_
#define CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_

#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace capstan::cli {

struct TrainOptions {
  std::string job;
  int shards = 1;
  int workers = 1;
  std::vector<std::string> overrides;  // key=value
  std::string run_folder;              // Empty: a new one.
  int chief_port = 0;
  bool fresh = false;
  std::string from;
  bool take_over = false;  // From a chief that is at work on the job.
  bool plain = false;
  bool keep_going = false;
  std::string worker;               // The user's own program; empty: `worker`.
  std::string programs;             // The folder of chief, ps and worker.
  std::string program = "capstan";  // As this one is called.
};

// Starts everybody, shows the progress, and ends with what came out and what to try next. A bad job
// file is refused before anything is started. SIGINT and SIGTERM stop all in good order.
ExitCode Train(const TrainOptions& options);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_
