#include "capstan/rpc/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(ListenerTest, AFreePortIsTakenUntilItIsGivenBack) {
  auto listener = Listener::Open("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  EXPECT_GT(port, 0);
  const std::string address = absl::StrCat("127.0.0.1:", port);
  const absl::Status taken = Listener::Open(address).status();
  EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()), HasSubstr(address));
  listener->reset();
  const auto again = Listener::Open(address);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->port(), port);
}

TEST(ListenerTest, OnEveryAddressItHasOnePort) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "localhost:0"}) {
    const auto listener = Listener::Open(address);
    ASSERT_TRUE(listener.ok()) << address << ": " << listener.status();
    EXPECT_GT((*listener)->port(), 0);
    EXPECT_TRUE(absl::IsUnavailable(
        Listener::Open(absl::StrCat("127.0.0.1:", (*listener)->port())).status()))
        << address << " takes connections of IPv4, too";
  }
}

TEST(ListenerTest, WhatIsNoAddressIsAMistakeAndOneOfAnotherMachineIsNot) {
  for (const char* address : {"", "nowhere", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1"}) {
    const absl::Status status = Listener::Open(address).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(": is not host:port"));
  }
  const absl::Status elsewhere = Listener::Open("203.0.113.7:0").status();
  EXPECT_TRUE(absl::IsUnavailable(elsewhere)) << elsewhere;
  EXPECT_THAT(std::string(elsewhere.message()), HasSubstr("203.0.113.7:0"));
}

}  // namespace
}  // namespace capstan
