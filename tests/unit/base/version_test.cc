#include "capstan/base/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::MatchesRegex;

TEST(VersionTest, NamesTheProgramTheVersionTheCommitAndTheCompiler) {
  EXPECT_THAT(VersionLine("ps"),
              MatchesRegex("capstan ps [0-9]+\\.[0-9]+\\.[0-9]+ \\(([0-9a-f]{12}|unknown), .+\\)"));
}

TEST(VersionTest, TheCommandItselfIsNotNamedTwice) {
  EXPECT_THAT(VersionLine("capstan"), MatchesRegex("capstan [0-9]+\\..*"));
}

}  // namespace
}  // namespace capstan
