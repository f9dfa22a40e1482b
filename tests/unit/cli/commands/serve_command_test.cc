// `capstan serve`: what it understands, what it refuses, and that it ends when it is asked to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/commands/run_command.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port of loopback that is taken as long as this lives.
class TakenPort {
 public:
  TakenPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~TakenPort() { close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

bool Listens(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const bool connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

// Serves, with these words beside the port, until it listens, and then has it end by SIGTERM.
CommandResult ServeForAMoment(std::vector<std::string> words) {
  const int port = TakenPort().number();  // Free from now on.
  words.insert(words.begin(), "serve");
  words.insert(words.end(), {"--host", "127.0.0.1", "--port", absl::StrCat(port)});
  std::thread end([port] {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!Listens(port)) {
      if (absl::Now() > deadline) return;
      absl::SleepFor(absl::Milliseconds(5));
    }
    kill(getpid(), SIGTERM);  // It is handled: the handler is there before the port.
  });
  CommandResult result = RunCommand(AddServe, words);
  end.join();
  return result;
}

TEST(ServeCommandTest, AModelIsServedUntilTheProcessIsAskedToEnd) {
  const DeepFmFolder model;
  const CommandResult result = ServeForAMoment({model.path()});
  EXPECT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(StartsWith("serving ctr, version "), HasSubstr(", at http://127.0.0.1:"),
                    HasSubstr("/v2/models/ctr\n")));
}

TEST(ServeCommandTest, ANameTakesThePlaceOfTheJobs) {
  const DeepFmFolder model;
  EXPECT_THAT(ServeForAMoment({model.path(), "--name", "clicks"}).output,
              AllOf(StartsWith("serving ctr, "), HasSubstr("/v2/models/clicks\n")));
}

TEST(ServeCommandTest, WhoeverWaitsListensBeforeThereIsAModel) {
  const TestFolder folder;
  const CommandResult result =
      ServeForAMoment({folder.Path("none"), "--wait", "--health-port", "0", "--metrics-port", "0"});
  EXPECT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(
      result.output,
      AllOf(StartsWith("looking for a version of none, at http://"), HasSubstr("/v2/models/none\n"),
            HasSubstr("\nhealth at 127.0.0.1:"), HasSubstr("\nmetrics at 127.0.0.1:")));
}

TEST(ServeCommandTest, WithoutWaitingThereHasToBeAModel) {
  const TestFolder folder;
  const CommandResult result = RunCommand(AddServe, {"serve", folder.Path("none")});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_THAT(result.errors, AllOf(StartsWith("capstan: "), HasSubstr("none")));
}

TEST(ServeCommandTest, APortThatIsTakenIsNamed) {
  const TestFolder folder;
  const TakenPort taken;
  for (const char* option : {"--port", "--health-port", "--metrics-port"}) {
    std::vector<std::string> words = {
        "serve", folder.Path("none"),         "--wait", "--host", "127.0.0.1",
        option,  absl::StrCat(taken.number())};
    if (std::string(option) != "--port") words.insert(words.end(), {"--port", "0"});
    const CommandResult result = RunCommand(AddServe, words);
    EXPECT_NE(result.exit_code, kDone) << option;
    EXPECT_THAT(result.errors, HasSubstr(absl::StrCat(taken.number()))) << option;
  }
}

TEST(ServeCommandTest, WhatCannotBeMeantIsRefusedBeforeAnythingIsRead) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--port", "65536"},
                                             {"--threads", "0"},
                                             {"--every", "0"},
                                             {"--linger", "-1"},
                                             {"--keep-alive", "0"},
                                             {"--processes", "2"},
                                             {"--timeout", "3"},
                                             {"--program", "python3 m.py", "--processes", "0"}}) {
    std::vector<std::string> words = {"serve", "model"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = RunCommand(AddServe, words);
    EXPECT_EQ(result.exit_code, kBadInput) << more.front();
    EXPECT_THAT(result.errors, HasSubstr(more[more.size() - 2])) << more.front();
  }
}

}  // namespace
}  // namespace capstan::cli
