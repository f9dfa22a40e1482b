#include "cli/local/group_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace capstan::cli {
namespace {

constexpr int kSoonMilliseconds = 60'000;

// A process group of one process that waits, and holds an end of a pipe as long as it is there.
class Group {
 public:
  explicit Group(bool deaf) {
    if (pipe2(ends_, O_CLOEXEC) != 0) std::abort();
    // It is deaf, if it is, before anybody knows of it.
    if (deaf) signal(SIGTERM, SIG_IGN);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      while (true) pause();
    }
    signal(SIGTERM, SIG_DFL);
    setpgid(pid_, pid_);
  }
  ~Group() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(ends_[0]);
    close(ends_[1]);
  }
  pid_t id() const { return pid_; }
  // Waits for its end, and returns whether that has come.
  bool Ends() {
    close(ends_[1]);
    ends_[1] = -1;
    pollfd end{.fd = ends_[0], .events = POLLIN, .revents = 0};
    return poll(&end, 1, kSoonMilliseconds) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
};

// A process that has the group guarded and is gone at once.
void GuardAndGo(const Group& group) {
  const pid_t owner = fork();
  if (owner == 0) {
    const GroupGuard guard(group.id());
    raise(SIGKILL);
  }
  waitpid(owner, nullptr, 0);
}

TEST(GroupGuardTest, AGroupEndsOnceItsOwnerIsGone) {
  Group group(/*deaf=*/false);
  GuardAndGo(group);
  EXPECT_TRUE(group.Ends());
}

TEST(GroupGuardTest, WhoTakesNoSignalIsKilled) {
  Group group(/*deaf=*/true);
  GuardAndGo(group);
  EXPECT_TRUE(group.Ends());
}

TEST(GroupGuardTest, AGroupGoesOnWhenItIsNotGuardedAnyMore) {
  Group group(/*deaf=*/true);
  {
    GroupGuard guard(group.id());
    const GroupGuard moved = std::move(guard);
  }
  EXPECT_EQ(waitpid(group.id(), nullptr, WNOHANG), 0);
}

}  // namespace
}  // namespace capstan::cli
