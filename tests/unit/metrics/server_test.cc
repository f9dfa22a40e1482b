#include "capstan/metrics/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace capstan::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The answer to one GET, headers included; empty if nobody listens.
std::string Get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) answer.append(buffer, n);
  }
  close(fd);
  return answer;
}

TEST(ServerTest, AnswersAScrapeOnAPortItChose) {
  Registry registry;
  Counter& steps = registry.AddCounter({"capstan_worker_steps_total", "Steps."});
  const auto server = Server::Start(registry, "127.0.0.1", /*port=*/0);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_GT((*server)->port(), 0);
  steps.Add(3);
  const std::string answer = Get((*server)->port(), "/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\ncapstan_worker_steps_total 3\n"));
}

TEST(ServerTest, BuildinfoSaysWhatRunsHere) {
  Registry registry;
  const auto server = Server::Start(registry, "127.0.0.1", /*port=*/0);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Get((*server)->port(), "/buildinfo"), HasSubstr("\ncapstan_build_info{"));
}

TEST(ServerTest, APortThatIsTakenIsReported) {
  Registry registry;
  const auto first = Server::Start(registry, "127.0.0.1", /*port=*/0);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Server::Start(registry, "127.0.0.1", (*first)->port());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("127.0.0.1:" + std::to_string((*first)->port())));
}

TEST(ServerTest, NobodyListensAfterItsEnd) {
  Registry registry;
  int port = 0;
  {
    const auto server = Server::Start(registry, "127.0.0.1", /*port=*/0);
    ASSERT_TRUE(server.ok()) << server.status();
    port = (*server)->port();
  }
  EXPECT_EQ(Get(port, "/metrics"), "");
}

}  // namespace
}  // namespace capstan::metrics
