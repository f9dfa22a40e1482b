#include "ps/process/ps_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

TEST(OrdinalOfTest, IsTheNumberAtTheEndOfThePodsName) {
  EXPECT_EQ(OrdinalOf("ps-3").value(), 3);
  EXPECT_EQ(OrdinalOf("ctr-2-ps-0").value(), 0);
  EXPECT_EQ(OrdinalOf("ctr-ps-1024").value(), 1024);
}

TEST(OrdinalOfTest, AHostOfAnotherNameIsToldToNameItsIndex) {
  for (const char* host :
       {"", "laptop", "ps-", "ps-x", "ps-3a", "ps-99999999999", "-", "ps-3.local"}) {
    const absl::Status refused = OrdinalOf(host).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << host;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--index: not given")) << host;
  }
}

}  // namespace
}  // namespace capstan::ps
