// Starts a program as a child process.
#ifndef CAPSTAN_CLI_LOCAL_PROCESS_H_
#define CAPSTAN_CLI_LOCAL_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/local/group_guard.h"

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
  // The file to which standard output and error are appended. Empty: both go to our standard error.
  std::string log_path;
  int inherited = -1;  // A descriptor that the program inherits under the same number; -1: none.
};

// A child process. It has a process group of its own, so that Ctrl-C on the terminal reaches only
// us, and the kernel sends it SIGTERM when the thread that started it ends. What it starts itself,
// as a shell script does, is in its group, too, and none of that outlives this object, or this
// process by more than moments, whatever ends it (GroupGuard). Confined to that thread.
class Process {
 public:
  // Starts a program. NOT_FOUND or PERMISSION_DENIED, with its path: it cannot be run. From the
  // first call on, orphaned processes below the programs become children of this process.
  static absl::StatusOr<Process> Start(const ProcessOptions& options);

  // Kills all of its group that still runs, and waits for the end of each.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }

  // Returns how the process ended; nothing while it runs, or, once it was sent a signal, while
  // anything of its group runs. Never waits.
  std::optional<Ending> Poll();

  // Sends the process a signal. A shell ends without a word to what it has started; so once the
  // process has ended, Poll() sends the same signal to what is left of its group. SIGKILL is sent
  // to the whole group at once. Does nothing if Poll() returns how the process ended.
  void Signal(int signal);

  // Waits at most `timeout` for the end of the process, and returns as Poll does.
  std::optional<Ending> WaitFor(absl::Duration timeout);

 private:
  explicit Process(pid_t pid) : pid_(pid), guard_(pid) {}
  bool HasOrphans() const;

  pid_t pid_ = -1;  // -1: moved from.
  std::optional<Ending> ending_;
  int signal_ = 0;          // That it was sent last; 0: none.
  bool passed_on_ = false;  // To what is left of its group.
  GroupGuard guard_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_PROCESS_H_
