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
// SIGTERM by the kernel when the thread that started it is gone. What a script starts is in its
// group, too, and none of that outlives this object. Confined to the thread that started it.
class Process {
 public:
  // NOT_FOUND or PERMISSION_DENIED, with its path, for a program that cannot be run. From the first
  // call on, orphans of the programs that it has started are children of this process.
  static absl::StatusOr<Process> Start(const ProcessOptions& options);

  // Kills all of its group that still runs, and waits for the end of each.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }

  // How it ended; nothing while it runs, or, once it was sent a signal, while any of its group
  // does. Never waits.
  std::optional<Ending> Poll();

  // Sends it the signal; Poll() sends the same to what is left of its group once the process itself
  // has ended, as a shell ends without a word to what it has started. SIGKILL is sent to the whole
  // group. Does nothing if Poll() says how it ended.
  void Signal(int signal);

  // Waits for its end, at most so long.
  std::optional<Ending> WaitFor(absl::Duration timeout);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  bool HasOrphans() const;

  pid_t pid_ = -1;  // -1: moved from.
  std::optional<Ending> ending_;
  int signal_ = 0;          // That it was sent last; 0: none.
  bool passed_on_ = false;  // To what is left of its group.
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_PROCESS_H_
