#include "capstan/process/identity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

TEST(HostOfTest, IsTheHostWithoutBracketsOrNothing) {
  EXPECT_EQ(HostOf("10.0.0.7:7000"), "10.0.0.7");
  EXPECT_EQ(HostOf("[::1]:7000"), "::1");
  EXPECT_EQ(HostOf("ps-0.ps.ctr.svc:7000"), "ps-0.ps.ctr.svc");
  for (const char* address : {"", "host", "host:", "host:99999", "[::1:7000"}) {
    EXPECT_EQ(HostOf(address), "") << address;
  }
}

TEST(AddressToTellTest, WhatIsAdvertisedIsToldAsItIs) {
  EXPECT_EQ(AddressToTell("ps-0.example:7000", "0.0.0.0:7001", 7002), "ps-0.example:7000");
}

TEST(AddressToTellTest, OtherwiseItIsTheHostThatItListensOnWithThePortThatItGot) {
  EXPECT_EQ(AddressToTell("", "127.0.0.1:0", 4321), "127.0.0.1:4321");
  EXPECT_EQ(AddressToTell("", "[::1]:0", 4321), "[::1]:4321");
}

TEST(AddressToTellTest, EveryAddressIsNoneThatOthersCouldDial) {
  for (const char* listen : {"0.0.0.0:7000", "[::]:7000", "nonsense"}) {
    EXPECT_EQ(AddressToTell("", listen, 4321), absl::StrCat(HostName(), ":4321")) << listen;
  }
  EXPECT_NE(HostName(), "");
}

TEST(RandomIdTest, IsNeverZeroAndNeverTheSame) {
  std::set<uint64_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(RandomId());
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_FALSE(ids.contains(0));
  EXPECT_NE(NewIncarnation(), NewIncarnation());
}

}  // namespace
}  // namespace capstan
