#include "cli/status/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace capstan::cli {
namespace {

// Both ends of a terminal of 100 x 30.
class TerminalTest : public testing::Test {
 protected:
  TerminalTest() {
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    const winsize size{.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&screen_, &program_, nullptr, nullptr, &size), 0);
    termios settings{};
    tcgetattr(program_, &settings);
    cfmakeraw(&settings);  // No translation of line ends.
    tcsetattr(program_, TCSANOW, &settings);
  }
  ~TerminalTest() override {
    close(screen_);
    close(program_);
  }

  // What has been written to the screen since the last call.
  std::string Written() {
    std::string text;
    char buffer[4096];
    pollfd readable{.fd = screen_, .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, /*milliseconds=*/50) == 1) {
      text.append(buffer, read(screen_, buffer, sizeof buffer));
    }
    return text;
  }

  int screen_ = -1;
  int program_ = -1;
};

TEST_F(TerminalTest, KnowsItsSizeAndLeavesALineForTheCursor) {
  const Terminal terminal(program_);
  EXPECT_TRUE(terminal.live());
  EXPECT_EQ(terminal.view().width, 100);
  EXPECT_EQ(terminal.view().height, 29);
  EXPECT_TRUE(terminal.view().unicode);
}

TEST_F(TerminalTest, IsNotLiveWhenToldToBePlain) {
  EXPECT_FALSE(Terminal(program_, /*plain=*/true).live());
}

TEST_F(TerminalTest, DrawsOverWhatItDrewBefore) {
  Terminal terminal(program_);
  terminal.Draw({"a", "b"});
  EXPECT_EQ(Written(), "a\x1b[K\nb\x1b[K\n\x1b[J");
  terminal.Draw({"c"});
  EXPECT_EQ(Written(), "\x1b[2A\rc\x1b[K\n\x1b[J");
}

TEST_F(TerminalTest, SaysALineAboveWhatIsDrawn) {
  Terminal terminal(program_);
  terminal.Draw({"a"});
  Written();
  terminal.Say("news");
  EXPECT_EQ(Written(), "\x1b[1A\r\x1b[Jnews\na\x1b[K\n\x1b[J");
}

TEST_F(TerminalTest, BeginsTheScreenAnewWhenTheWindowHasAnotherSize) {
  Terminal terminal(program_);
  terminal.Draw({"a", "b"});
  Written();
  const winsize smaller{.ws_row = 10, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(program_, TIOCSWINSZ, &smaller), 0);
  terminal.Draw({"c"});
  EXPECT_EQ(Written(), "\x1b[H\x1b[2Jc\x1b[K\n\x1b[J");
  terminal.Draw({"d"});
  EXPECT_EQ(Written(), "\x1b[1A\rd\x1b[K\n\x1b[J");
}

TEST_F(TerminalTest, KeepsWhatIsDrawn) {
  Terminal terminal(program_);
  terminal.Draw({"a"});
  terminal.Keep();
  Written();
  terminal.Say("below");
  EXPECT_EQ(Written(), "below\n");
}

TEST(PlainTerminalTest, WritesWholeLinesIntoAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Terminal terminal(ends[1]);
  EXPECT_FALSE(terminal.live());
  EXPECT_FALSE(terminal.view().color);
  terminal.Say("a line");
  char buffer[64];
  EXPECT_EQ(std::string(buffer, read(ends[0], buffer, sizeof buffer)), "a line\n");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace capstan::cli
