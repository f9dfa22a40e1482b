#include "capstan/base/shutdown.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <thread>

#include "absl/time/clock.h"

namespace capstan {
namespace {

TEST(ShutdownTest, IsNotRequestedByItself) {
  Shutdown shutdown;
  EXPECT_FALSE(shutdown.requested());
  EXPECT_FALSE(shutdown.WaitFor(absl::Milliseconds(5)));
}

TEST(ShutdownTest, SigtermIsARequest) {
  Shutdown shutdown;
  raise(SIGTERM);
  EXPECT_TRUE(shutdown.requested());
}

TEST(ShutdownTest, SigintIsARequest) {
  Shutdown shutdown;
  raise(SIGINT);
  EXPECT_TRUE(shutdown.requested());
}

TEST(ShutdownTest, TheEndOfTheTerminalIsARequest) {
  signal(SIGHUP, SIG_DFL);  // The tests may run under nohup.
  Shutdown shutdown;
  raise(SIGHUP);
  EXPECT_TRUE(shutdown.requested());
}

TEST(ShutdownTest, WhoIsToOutliveTheTerminalDoes) {
  signal(SIGHUP, SIG_IGN);
  {
    Shutdown shutdown;
    raise(SIGHUP);
    EXPECT_FALSE(shutdown.requested());
  }
  EXPECT_EQ(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(ShutdownTest, ARequestWakesEveryWaiter) {
  Shutdown shutdown;
  bool first = false;
  bool second = false;
  std::thread one([&] { first = shutdown.WaitFor(absl::Seconds(60)); });
  std::thread two([&] { second = shutdown.WaitFor(absl::InfiniteDuration()); });
  shutdown.Request();
  one.join();
  two.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

TEST(ShutdownTest, ItsDescriptorIsReadableFromTheRequestOn) {
  Shutdown shutdown;
  pollfd waited{.fd = shutdown.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waited, 1, /*timeout=*/0), 0);
  shutdown.Request();
  EXPECT_EQ(poll(&waited, 1, /*timeout=*/0), 1);
}

TEST(ShutdownTest, ALaterOneBeginsAfresh) {
  {
    Shutdown shutdown;
    raise(SIGTERM);
    EXPECT_TRUE(shutdown.requested());
  }
  Shutdown shutdown;
  EXPECT_FALSE(shutdown.requested());
  raise(SIGTERM);  // Its first signal: must not end the process.
  EXPECT_TRUE(shutdown.requested());
}

void SignalTwice(int first, absl::Duration apart, int second) {
  signal(SIGHUP, SIG_DFL);
  Shutdown shutdown;
  raise(first);
  absl::SleepFor(apart);  // The handler reads the system's own clock.
  raise(second);
  _exit(shutdown.requested() ? 7 : 0);
}
void TerminateTwice(absl::Duration apart) { SignalTwice(SIGTERM, apart, SIGTERM); }

TEST(ShutdownDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(TerminateTwice(absl::Milliseconds(600)), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(ShutdownDeathTest, TheEndOfTheTerminalCutsNothingShort) {
  for (const int first : {SIGINT, SIGHUP}) {
    EXPECT_EXIT(SignalTwice(first, absl::Milliseconds(600), SIGHUP), testing::ExitedWithCode(7),
                "");
  }
}

TEST(ShutdownDeathTest, ASignalThatArrivesTwiceWithinMomentsIsOne) {
  EXPECT_EXIT(TerminateTwice(absl::Milliseconds(5)), testing::ExitedWithCode(7), "");
}

void RequestThenTerminate() {
  Shutdown shutdown;
  shutdown.Request();
  raise(SIGTERM);
  _exit(7);
}

TEST(ShutdownDeathTest, AFirstSignalAfterTheProcessesOwnEndDoesNotCutItShort) {
  EXPECT_EXIT(RequestThenTerminate(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace capstan
