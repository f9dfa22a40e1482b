#include "cli/local/group_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::cli {
namespace {

// Standard input ends with the process that is watched. A shell, and not a copy of this process:
// that would keep its memory, and be killed by whoever kills all processes of its name.
constexpr char kScript[] = R"(
trap '' HUP INT TERM
read -r never
kill -s TERM -- "-$1"
turns=30
while [ $turns -gt 0 ] && kill -s 0 -- "-$1"; do
  sleep 0.1
  turns=$((turns - 1))
done
kill -s KILL -- "-$1"
)";

// Returns the guard's pid, or -1.
pid_t StartGuard(pid_t group, int input) {
  const std::string number = absl::StrCat(group);
  const char* const argv[] = {"/bin/sh", "-c", kScript, "capstan-guard", number.c_str(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  pid_t guard = -1;
  if (posix_spawn(&guard, argv[0], &files, &attributes, const_cast<char* const*>(argv), environ) !=
      0) {
    guard = -1;
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return guard;
}

}  // namespace

GroupGuard::GroupGuard(pid_t group) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  guard_ = StartGuard(group, ends[0]);
  alive_ = ends[1];
  close(ends[0]);
}

GroupGuard::~GroupGuard() {
  if (guard_ > 0) {
    kill(guard_, SIGKILL);
    while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  if (alive_ >= 0) close(alive_);
}

GroupGuard::GroupGuard(GroupGuard&& other) noexcept
    : guard_(std::exchange(other.guard_, -1)), alive_(std::exchange(other.alive_, -1)) {}

GroupGuard& GroupGuard::operator=(GroupGuard&& other) noexcept {
  std::swap(guard_, other.guard_);
  std::swap(alive_, other.alive_);
  return *this;
}

}  // namespace capstan::cli
