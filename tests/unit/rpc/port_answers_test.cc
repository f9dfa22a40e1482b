#include "capstan/rpc/port_answers.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

TEST(PortAnswersTest, OfAServerThatServes) {
  v1::Ps::Service service;
  auto server = Server::Start({.listen = "127.0.0.1:0", .tls = nullptr}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(PortAnswers("127.0.0.1", (*server)->port(), absl::Seconds(30)));
}

TEST(PortAnswersTest, NotOfASocketThatNobodyAcceptsFrom) {
  const int deaf = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(deaf, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(deaf, 1), 0);
  ASSERT_EQ(getsockname(deaf, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_FALSE(PortAnswers("127.0.0.1", ntohs(address.sin_port), absl::Milliseconds(50)));
  close(deaf);
  EXPECT_FALSE(PortAnswers("127.0.0.1", ntohs(address.sin_port), absl::Milliseconds(50)));
}

TEST(PortRefusesTest, OnlyWhereTheMachineSaysThatNobodyListens) {
  v1::Ps::Service service;
  auto server = Server::Start({.listen = "127.0.0.1:0", .tls = nullptr}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();
  EXPECT_FALSE(PortRefuses("127.0.0.1", port, absl::Seconds(1)));
  server->reset();
  EXPECT_TRUE(PortRefuses("127.0.0.1", port, absl::Seconds(1)));
  EXPECT_FALSE(PortRefuses("no.such.host.invalid", port, absl::Milliseconds(100)));
}

}  // namespace
}  // namespace capstan
