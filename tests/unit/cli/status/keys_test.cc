#include "cli/status/keys.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "absl/time/clock.h"

namespace capstan::cli {
namespace {

// In a child that has a terminal of its own, of which the test has the other end. It says what
// `LeaveWithin` has returned by its exit code.
pid_t WaitForKeys(int& keyboard) {
  const pid_t child = forkpty(&keyboard, nullptr, nullptr, nullptr);
  if (child != 0) return child;
  const Shutdown shutdown;
  Keys keys(STDIN_FILENO);
  if (write(STDOUT_FILENO, "ready", 5) != 5) _exit(2);
  _exit(keys.LeaveWithin(absl::Seconds(5), shutdown) ? 1 : 0);
}

int ResultOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int Type(const char* keys) {
  int keyboard = -1;
  const pid_t child = WaitForKeys(keyboard);
  char said[5];
  EXPECT_EQ(read(keyboard, said, sizeof said), 5);
  EXPECT_EQ(write(keyboard, keys, 1), 1);
  const int result = ResultOf(child);
  close(keyboard);
  return result;
}

TEST(KeysTest, QLeavesWithoutReturn) { EXPECT_EQ(Type("q"), 1); }

TEST(KeysTest, OtherKeysDoNot) { EXPECT_EQ(Type("x"), 0); }

// The child does not look at the first signal: it waits for somebody who does not answer.
TEST(KeysTest, ASecondSignalLeavesTheTerminalAsItWas) {
  int keyboard = -1;
  const pid_t child = forkpty(&keyboard, nullptr, nullptr, nullptr);
  if (child == 0) {
    const Shutdown shutdown;
    const Keys keys(STDIN_FILENO);
    if (write(STDOUT_FILENO, "ready", 5) != 5) _exit(2);
    for (;;) pause();
  }
  char said[5];
  ASSERT_EQ(read(keyboard, said, sizeof said), 5);
  termios now;
  ASSERT_EQ(tcgetattr(keyboard, &now), 0);
  ASSERT_EQ(now.c_lflag & (ICANON | ECHO), 0u);
  kill(child, SIGINT);
  absl::SleepFor(absl::Milliseconds(600));  // What comes sooner is the first signal again.
  kill(child, SIGINT);
  EXPECT_EQ(ResultOf(child), 128 + SIGINT);
  ASSERT_EQ(tcgetattr(keyboard, &now), 0);
  EXPECT_EQ(now.c_lflag & (ICANON | ECHO), static_cast<tcflag_t>(ICANON | ECHO));
  close(keyboard);
}

TEST(KeysTest, WithoutATerminalItOnlyWaits) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "q", 1), 1);
  const Shutdown shutdown;
  Keys keys(ends[0]);
  EXPECT_FALSE(keys.LeaveWithin(absl::Milliseconds(1), shutdown));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace capstan::cli
