#include "capstan/base/host_port.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

TEST(HostPortTest, IsReadAsItIsWritten) {
  EXPECT_EQ(SplitHostPort("10.0.0.7:7000")->host, "10.0.0.7");
  EXPECT_EQ(SplitHostPort("ps-0.ps:0")->port, 0);
  EXPECT_EQ(SplitHostPort("[::1]:7000")->host, "::1");
  EXPECT_EQ(JoinHostPort("::1", 7000), "[::1]:7000");
  EXPECT_EQ(JoinHostPort("ps-0.ps", 7000), "ps-0.ps:7000");
  EXPECT_TRUE(SplitHostPort("0.0.0.0:1")->any());
  EXPECT_TRUE(SplitHostPort("[::]:1")->any());
}

TEST(HostPortTest, WhatIsNoHostAndPortIsNothing) {
  for (const std::string& wrong :
       {std::string("nonsense"), std::string("host:"), std::string(":7000"), std::string("h:65536"),
        std::string("h:-1"), std::string("h:7000x"), std::string("unix:///tmp/s:1"),
        std::string("\x1b[2Jh:1"), std::string(300, 'h') + ":1"}) {
    EXPECT_FALSE(SplitHostPort(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace capstan
