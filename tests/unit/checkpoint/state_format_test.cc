#include "capstan/checkpoint/state_format.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(StateFormatTest, AStateOfALaterFormatIsRefusedWithWhoIsOlder) {
  v1::ChiefState state;
  EXPECT_EQ(CheckStateFormat("state/chief.json", state, "chief"), absl::OkStatus());
  state.set_format(kStateFormat);
  EXPECT_EQ(CheckStateFormat("state/chief.json", state, "chief"), absl::OkStatus());
  state.set_format(kStateFormat + 1);
  EXPECT_EQ(CheckStateFormat("state/chief.json", state, "chief"),
            absl::FailedPreconditionError(
                "state/chief.json: has format 2, expected at most 1: this chief is older than the "
                "chief that has written it; use a version that is not older than that one"));
}

}  // namespace
}  // namespace capstan
