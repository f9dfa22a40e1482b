#include "cli/local/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace capstan::cli {
namespace {

// Whether a socket can listen on that port of 127.0.0.1, with SO_REUSEADDR or without.
bool Listens(int port, bool reuse) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = reuse ? 1 : 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port));
  const bool listens =
      bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return listens;
}

TEST(HeldPortTest, CanBeListenedOnByWhoeverNamesItAgainAndAgain) {
  const auto held = HeldPort::Hold(0);
  ASSERT_TRUE(held.has_value());
  EXPECT_GT(held->number(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Listens(held->number(), /*reuse=*/true));
}

TEST(HeldPortTest, IsTakenForWhoeverDoesNotShareIt) {
  auto held = HeldPort::Hold(0);
  ASSERT_TRUE(held.has_value());
  const int port = held->number();
  EXPECT_FALSE(Listens(port, /*reuse=*/false));
  held.reset();
  EXPECT_TRUE(Listens(port, /*reuse=*/false));
}

TEST(HeldPortTest, IsNotHeldWhileSomebodyListensOnIt) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(listen(fd, 1), 0);  // On any free port.
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_FALSE(HeldPort::Hold(ntohs(address.sin_port)).has_value());
  close(fd);
}

}  // namespace
}  // namespace capstan::cli
