// Compiled as a release is, whatever the other files are; see CMakeLists.txt.
#include <gtest/gtest.h>

#include <string_view>

#include "capstan/base/failpoint.h"

#define TEXT_OF(...) TEXT_OF_EXPANDED(__VA_ARGS__)
#define TEXT_OF_EXPANDED(...) #__VA_ARGS__

namespace capstan {
namespace {

TEST(FailpointOffTest, NothingIsLeftOfAPointNotEvenItsName) {
  constexpr std::string_view kPoint = TEXT_OF(CAPSTAN_FAILPOINT("test.point"));
  constexpr std::string_view kStatus = TEXT_OF(CAPSTAN_FAILPOINT_STATUS("test.point"));
  EXPECT_EQ(kPoint, "static_cast<void>(0)");
  EXPECT_EQ(kStatus, "::absl::OkStatus()");
}

}  // namespace
}  // namespace capstan
