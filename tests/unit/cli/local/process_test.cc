#include "cli/local/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(10);

std::string LogPath(const std::string& name) {
  static const TestFolder folder;
  return folder.Path(name + ".log");
}

absl::StatusOr<Process> StartShell(const std::string& script, const std::string& log) {
  return Process::Start({.argv = {"/bin/sh", "-c", script}, .log_path = log});
}

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ProcessTest, TellsTheExitCode) {
  absl::StatusOr<Process> process = StartShell("exit 3", LogPath("exit_code"));
  ASSERT_TRUE(process.ok()) << process.status();
  const auto ending = process->WaitFor(kSoon);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->exit_code, 3);
  EXPECT_FALSE(ending->ok());
  EXPECT_EQ(ending->ToString(), "exit code 3");
}

TEST(ProcessTest, TellsTheSignal) {
  absl::StatusOr<Process> process = StartShell("exec sleep 60", LogPath("signal"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_FALSE(process->Poll().has_value());
  process->Signal(SIGKILL);
  const auto ending = process->WaitFor(kSoon);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->ToString(), "signal 9 (Killed)");
}

TEST(ProcessTest, AppendsOutputAndErrorsToTheLog) {
  const std::string log = LogPath("output");
  unlink(log.c_str());
  for (const char* script : {"echo first", "echo second >&2"}) {
    absl::StatusOr<Process> process = StartShell(script, log);
    ASSERT_TRUE(process.ok()) << process.status();
    ASSERT_TRUE(process->WaitFor(kSoon).has_value());
  }
  EXPECT_EQ(TextOf(log), "first\nsecond\n");
}

TEST(ProcessTest, LeavesTheProgramTheDescriptorThatItInheritsAndNoOther) {
  int inherited[2];
  int other[2];
  ASSERT_EQ(pipe2(inherited, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(other, O_CLOEXEC), 0);
  const std::string script = absl::StrCat("[ ! -e /proc/self/fd/", other[1],
                                          " ] && echo here >/proc/self/fd/", inherited[1]);
  absl::StatusOr<Process> process = Process::Start({.argv = {"/bin/sh", "-c", script},
                                                    .log_path = LogPath("inherited"),
                                                    .inherited = inherited[1]});
  ASSERT_TRUE(process.ok()) << process.status();
  const auto ending = process->WaitFor(kSoon);
  ASSERT_TRUE(ending.has_value());
  EXPECT_TRUE(ending->ok()) << ending->ToString();
  close(inherited[1]);
  char said[16];
  EXPECT_EQ(read(inherited[0], said, sizeof said), 5);
  for (const int descriptor : {inherited[0], other[0], other[1]}) close(descriptor);
}

TEST(ProcessTest, RefusesAProgramThatIsNotThere) {
  const absl::StatusOr<Process> process =
      Process::Start({.argv = {"/no/such/program"}, .log_path = LogPath("absent")});
  EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(process.status().message().find("/no/such/program"), std::string::npos);
}

TEST(ProcessTest, KillsWhatStillRunsWhenItIsDestroyed) {
  pid_t pid = 0;
  {
    absl::StatusOr<Process> process =
        StartShell("trap '' TERM; while :; do sleep 1; done", LogPath("destroyed"));
    ASSERT_TRUE(process.ok()) << process.status();
    pid = process->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

void WaitForText(const std::string& path) {
  while (TextOf(path).empty()) absl::SleepFor(absl::Milliseconds(5));
}

// A script that starts a program, which takes a while to end, and waits for it.
constexpr char kScript[] =
    "sh -c 'trap \"sleep .3; echo ended; exit 0\" TERM; echo began; while :; do sleep .01; done' & "
    "wait";

TEST(ProcessTest, WhatAScriptHasStartedIsSentTheSignalAndWaitedFor) {
  const std::string log = LogPath("script");
  absl::StatusOr<Process> process = StartShell(kScript, log);
  ASSERT_TRUE(process.ok()) << process.status();
  WaitForText(log);
  process->Signal(SIGTERM);
  const auto ending = process->WaitFor(kSoon);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->ToString(), "signal 15 (Terminated)") << "of the script itself";
  EXPECT_NE(TextOf(log).find("ended\n"), std::string::npos) << TextOf(log);
}

TEST(ProcessTest, WhatAScriptHasStartedAndDoesNotEndIsKilledByTheSecondSignal) {
  const std::string log = LogPath("stubborn");
  absl::StatusOr<Process> process =
      StartShell("(trap '' TERM; echo began; while :; do sleep .01; done) & wait", log);
  ASSERT_TRUE(process.ok()) << process.status();
  WaitForText(log);
  process->Signal(SIGTERM);
  EXPECT_FALSE(process->WaitFor(absl::Milliseconds(200)).has_value());
  process->Signal(SIGKILL);
  EXPECT_TRUE(process->WaitFor(kSoon).has_value());
}

TEST(ProcessTest, WhatAScriptLeavesBehindEndsWithIt) {
  const std::string log = LogPath("left_behind");
  {
    absl::StatusOr<Process> process = StartShell("sleep 1000 & echo $!", log);
    ASSERT_TRUE(process.ok()) << process.status();
    const auto ending = process->WaitFor(kSoon);
    ASSERT_TRUE(ending.has_value()) << "nobody has asked it to end";
    EXPECT_TRUE(ending->ok());
    ASSERT_EQ(kill(std::stoi(TextOf(log)), 0), 0);
  }
  EXPECT_EQ(kill(std::stoi(TextOf(log)), 0), -1);
}

TEST(ProcessTest, WhatAScriptHasStartedEndsAlsoWhenWeAreKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string log = LogPath("orphans");
  const pid_t owner = fork();
  if (owner == 0) {
    // What the script starts holds its end of the pipe as well.
    const absl::StatusOr<Process> process = Process::Start(
        {.argv = {"/bin/sh", "-c", "(echo began; while :; do sleep .01; done) & wait"},
         .log_path = log,
         .inherited = ends[1]});
    if (process.ok()) WaitForText(log);
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(owner, 0);
  close(ends[1]);
  ASSERT_EQ(waitpid(owner, nullptr, 0), owner);
  pollfd end{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&end, 1, /*timeout=*/60'000), 1) << "all have ended who had the other end";
  close(ends[0]);
}

TEST(ProcessTest, KeepsTheTerminalsCtrlCFromTheChild) {
  absl::StatusOr<Process> process = StartShell("exec sleep 60", LogPath("group"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_NE(getpgid(process->pid()), getpgrp());
}

}  // namespace
}  // namespace capstan::cli
