// A program started by this one.
#ifndef CAPSTAN_CLI_LOCAL_PROCESS_H_
#define CAPSTAN_CLI_LOCAL_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan::cli {

// How a process ended: by itself (signal 0) or by a signal.
struct Ending {
  int exit_code = 0;
  int signal = 0;
  bool ok() const { return exit_code == 0 && signal == 0; }
  std::string ToString() const;  // "exit code 3", "signal 9 (Killed)"
};

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is the program's path.
  // Standard output and error are appended to it. Empty: both go to our standard error.
  std::string log_path;
  int inherited = -1;  // A descriptor that the program has, too, under the same number; -1: none.
};

// The process gets a group of its own, so that Ctrl-C on the terminal reaches only us; it is sent
// SIGTERM by the kernel when the thread that started it is gone. Confined to that thread.
class Process {
 public:
  // NOT_FOUND or PERMISSION_DENIED, with its path, for a program that cannot be run.
  static absl::StatusOr<Process> Start(const ProcessOptions& options);

  // Kills a process that still runs, and waits for its end.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }

  // How it ended; nothing while it runs. Never waits.
  std::optional<Ending> Poll();

  // Nothing happens to a process that has ended.
  void Signal(int signal);

  // Waits for its end, at most so long.
  std::optional<Ending> WaitFor(absl::Duration timeout);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1: moved from.
  std::optional<Ending> ending_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_PROCESS_H_
