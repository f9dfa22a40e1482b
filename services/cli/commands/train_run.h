// `capstan train`: a whole job on this machine, from its file to its last words.
#ifndef CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_
#define CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_

#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace capstan {
class Tls;
}

namespace capstan::cli {

struct TrainOptions {
  std::string job;
  int shards = 1;
  int workers = 1;
  std::vector<std::string> overrides;  // key=value
  std::string run_folder;              // Empty: a new folder.
  int chief_port = 0;
  bool fresh = false;
  std::string from;
  bool take_over = false;  // Take the job over from a chief that is at work on it.
  bool plain = false;
  bool keep_going = false;
  std::string worker;               // The user's own program; empty: `worker`.
  std::string programs;             // The folder of chief, ps and worker.
  std::string program = "capstan";  // How the user calls this program.
  std::string tls;                  // The folder of certificates; empty: plaintext.
  const Tls* identity = nullptr;    // What it holds; null: plaintext.
};

// Starts all processes, shows the progress, and in the end prints the results and what to try next.
// A bad job file is refused before anything is started. SIGINT and SIGTERM save the job and stop
// all processes in order.
ExitCode Train(const TrainOptions& options);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_TRAIN_RUN_H_
