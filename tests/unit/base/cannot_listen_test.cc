#include "capstan/base/cannot_listen.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CannotListenTest, NamesWhoHasThePort) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string where = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  EXPECT_THAT(
      CannotListen(where).message(),
      AllOf(HasSubstr(absl::StrCat("cannot listen on ", where, ": the port is in use, by ")),
            HasSubstr(absl::StrCat("(process ", getpid(), "); end it, or take another"))));
  close(taken);
}

TEST(CannotListenTest, SaysThatTheAddressIsAnotherMachines) {
  EXPECT_EQ(CannotListen("192.0.2.1:0").message(),
            "cannot listen on 192.0.2.1:0: this machine has no such address");
}

TEST(CannotListenTest, SaysThatItIsNoAddress) {
  EXPECT_EQ(CannotListen("nonsense").message(), "cannot listen on nonsense: it is not host:port");
}

}  // namespace
}  // namespace capstan
