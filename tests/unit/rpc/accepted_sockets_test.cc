#include "capstan/rpc/accepted_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace capstan {
namespace {

// A connection over loopback, of both ends.
class LoopbackConnection {
 public:
  LoopbackConnection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, any, sizeof(address)), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    socklen_t length = sizeof(address);
    getsockname(listener, any, &length);
    port = ntohs(address.sin_port);
    client = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, any, sizeof(address)), 0);
    accepted = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~LoopbackConnection() {
    close(client);
    close(accepted);
  }
  LoopbackConnection(const LoopbackConnection&) = delete;
  LoopbackConnection& operator=(const LoopbackConnection&) = delete;

  void Send(size_t bytes) const {
    const std::string data(bytes, 'x');
    EXPECT_EQ(send(client, data.data(), bytes, 0), static_cast<ssize_t>(bytes));
    char last;  // Loopback delivers at once, but not always before send returns.
    while (recv(accepted, &last, 1, MSG_PEEK) != 1) {
    }
  }

  int port, client, accepted;
};

TEST(AcceptedSocketsTest, AreThoseOfThePortWithWhatIsUnread) {
  const LoopbackConnection one, other;
  one.Send(100);
  const std::vector<AcceptedSocket> sockets = AcceptedSockets(one.port);
  ASSERT_EQ(sockets.size(), 1u);
  EXPECT_EQ(sockets[0].fd, one.accepted);
  EXPECT_EQ(sockets[0].unread, 100u);
}

TEST(AcceptedSocketsTest, HoldNoListener) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(listen(listener, 1), 0);
  sockaddr_in address;
  socklen_t length = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  EXPECT_TRUE(AcceptedSockets(ntohs(address.sin_port)).empty());
  close(listener);
}

TEST(AcceptedSocketsTest, HangingUpThrowsAwayWhatIsUnreadAndResetsTheClient) {
  const LoopbackConnection one, other;
  one.Send(100);
  other.Send(100);
  HangUp(AcceptedSockets(one.port).at(0));
  char byte;
  EXPECT_LE(recv(one.accepted, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(recv(one.client, &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_TRUE(AcceptedSockets(one.port).empty());
  EXPECT_EQ(recv(other.accepted, &byte, 1, 0), 1);
}

}  // namespace
}  // namespace capstan
