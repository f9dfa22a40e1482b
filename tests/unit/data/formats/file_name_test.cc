#include "capstan/data/formats/file_name.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(CheckFileNameTest, TellsWhichNameAFieldOfTextCannotHold) {
  EXPECT_TRUE(CheckFileName("/data/caf\xC3\xA9 1.csv").ok());
  EXPECT_EQ(
      CheckFileName("/data/caf\xE9 1.csv"),
      absl::InvalidArgumentError(
          "/data/caf\\xe9 1.csv: the name is not UTF-8 (what stands after each \\x is one byte "
          "of it); rename the file, or write a pattern that does not find it"));
  EXPECT_FALSE(CheckFileName("/data/\xFF\n.csv").ok());
}

TEST(CheckFileNameTest, TheRefusalIsOneLine) {
  const absl::Status refused = CheckFileName("/data/\xFF\n.csv");
  EXPECT_EQ(refused.message().find('\n'), absl::string_view::npos) << refused;
}

}  // namespace
}  // namespace capstan
