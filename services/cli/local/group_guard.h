// Ends a process group once this process is gone, whatever has ended it: the second Ctrl-C and
// SIGKILL leave it no time to do so itself.
#ifndef CAPSTAN_CLI_LOCAL_GROUP_GUARD_H_
#define CAPSTAN_CLI_LOCAL_GROUP_GUARD_H_

#include <sys/types.h>

namespace capstan::cli {

// A process that waits for the end of this one, in a session of its own, so that no terminal
// signals it. Thread-compatible.
class GroupGuard {
 public:
  // Starts the guard. When this process has ended, it sends SIGTERM to the group, and three seconds
  // later SIGKILL to what is left of it. Where no shell can be run there is no guard.
  explicit GroupGuard(pid_t group);
  // Ends the guard, and leaves the group as it is.
  ~GroupGuard();
  GroupGuard(GroupGuard&& other) noexcept;
  GroupGuard& operator=(GroupGuard&& other) noexcept;

 private:
  pid_t guard_ = -1;  // -1: there is none.
  int alive_ = -1;    // An end of a pipe, which is closed when this process ends.
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_GROUP_GUARD_H_
