#include "chief/duties/check_wire_version.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "capstan/base/wire_version.h"

namespace capstan::chief {
namespace {

TEST(CheckWireVersionTest, WhoSpeaksTheVersionOfTheChiefMayRegister) {
  EXPECT_TRUE(CheckWireVersion(kWireVersion).ok());
}

TEST(CheckWireVersionTest, AnOlderAndANewerVersionAreRefused) {
  for (const uint32_t version :
       {kWireVersion - 1, kWireVersion + 1, std::numeric_limits<uint32_t>::max()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckWireVersion(version))) << version;
  }
}

TEST(CheckWireVersionTest, TheRefusalNamesBothVersions) {
  static_assert(kWireVersion == 1, "as the text below says");
  EXPECT_EQ(CheckWireVersion(0).message(), "the peer speaks wire version 0, this chief 1");
}

}  // namespace
}  // namespace capstan::chief
