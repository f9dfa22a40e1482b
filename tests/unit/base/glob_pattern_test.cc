#include "capstan/base/glob_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kOddNames[] = {"x[1]", "run[lr=0.1]", "a*b?", "]", "a\\b[1]", "[[]", "[!a]"};

TEST(GlobPatternTest, APathIsFoundByItsPatternAloneAndComesBackFromIt) {
  EXPECT_EQ(AsPattern("/a/x[1]/t.csv"), "/a/x[[]1]/t.csv");
  EXPECT_EQ(AsPattern("/a/t.csv"), "/a/t.csv");
  for (const std::string name : kOddNames) EXPECT_EQ(WithoutEscapes(AsPattern(name)), name);
  EXPECT_EQ(WithoutEscapes("x[12]/[a-z]*.csv"), "x[12]/[a-z]*.csv");
}

TEST(GlobPatternTest, WhatLiesInAFolderWithAnyNameIsFoundThereAndNowhereElse) {
  const TestFolder folder;
  for (const std::string sibling : {"x1", "runl", "aXbY", "ab1", "a", "b", "["}) {
    std::filesystem::create_directory(folder.Path(sibling));
    folder.Write(sibling + "/t.csv", "");
  }
  for (const std::string name : kOddNames) {
    std::filesystem::create_directory(folder.Path(name));
    const std::string path = folder.Write(name + "/t.csv", "");
    for (const std::string pattern : {"/t.csv", "/t.*", "/?.csv"}) {
      const auto found = MatchingPaths(AsPattern(folder.Path(name)) + pattern);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_THAT(*found, ElementsAre(path)) << pattern;
    }
  }
}

TEST(GlobPatternTest, AFileThatIsThereIsMeantByItsName) {
  const TestFolder folder;
  const std::string plain = folder.Write("t1.csv", "");
  EXPECT_THAT(*MatchingPaths(folder.Path("t[1].csv")), ElementsAre(plain));
  const std::string odd = folder.Write("t[1].csv", "");
  EXPECT_THAT(*MatchingPaths(folder.Path("t[1].csv")), ElementsAre(odd));
  EXPECT_THAT(*MatchingPaths(folder.Path("t[[]1].csv")), ElementsAre(odd));
  EXPECT_THAT(*MatchingPaths(folder.Path("t*.csv")), ElementsAre(plain, odd));
  // Beside names with brackets in a folder with brackets, of which a job makes one pattern.
  std::filesystem::create_directory(folder.Path("x[1]"));
  const std::string both = folder.Write("x[1]/t[1].csv", "");
  folder.Write("x[1]/t1.csv", "");
  EXPECT_THAT(*MatchingPaths(AsPattern(folder.Path("x[1]")) + "/t[1].csv"), ElementsAre(both));
}

TEST(GlobPatternTest, NamesThatBeginWithAnUnderscoreOrADotAreHiddenFromWildcards) {
  const TestFolder folder;
  for (const char* below : {"_temporary", "day=1"}) {
    std::filesystem::create_directory(folder.Path(below));
    folder.Write(std::string(below) + "/part-0", "");
  }
  folder.Write("_SUCCESS", "");
  folder.Write(".part-0.crc", "");
  const std::string part = folder.Write("part-0", "");
  const std::string of_day = folder.Path("day=1/part-0");
  EXPECT_THAT(*MatchingPaths(folder.Path("*")), ElementsAre(folder.Path("day=1"), part));
  EXPECT_THAT(*MatchingPaths(folder.Path("*/part-?")), ElementsAre(of_day));
  EXPECT_THAT(*MatchingPaths(folder.Path("?art*")), ElementsAre(part));
}

TEST(GlobPatternTest, AHiddenNameIsFoundByAPatternThatSaysHowItBegins) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.Path("_old"));
  const std::string old = folder.Write("_old/part-0", "");
  const std::string hidden = folder.Write("_part-1", "");
  EXPECT_THAT(*MatchingPaths(hidden), ElementsAre(hidden));
  EXPECT_THAT(*MatchingPaths(folder.Path("_p*")), ElementsAre(hidden));
  EXPECT_THAT(*MatchingPaths(folder.Path("[!.]part-1")), ElementsAre(hidden));
  EXPECT_THAT(*MatchingPaths(folder.Path("_old/*")), ElementsAre(old));
  const absl::Status nothing = MatchingPaths(folder.Path("*-1")).status();
  EXPECT_TRUE(absl::IsNotFound(nothing)) << nothing;
  EXPECT_THAT(std::string(nothing.message()),
              HasSubstr("no file matches but 1 with a name that begins with _ or ."));
}

TEST(GlobPatternTest, APatternIsComparedNameByName) {
  EXPECT_TRUE(IsHidden("train/*", "train/_SUCCESS"));
  EXPECT_TRUE(IsHidden("file:///a/*/x", "/a/_b/x"));
  EXPECT_FALSE(IsHidden("_a/*", "_a/x"));
  EXPECT_FALSE(IsHidden("a_*", "a_x"));
}

TEST(GlobPatternTest, BracesAndWhatIsNoPatternStayAsTheyAre) {
  const TestFolder folder;
  folder.Write("a.csv", "");
  folder.Write("b.csv", "");
  for (const std::string name : {"{a,b}.csv", "absent.csv"}) {
    EXPECT_THAT(*MatchingPaths(folder.Path(name)), ElementsAre(folder.Path(name)));
  }
  EXPECT_TRUE(absl::IsNotFound(MatchingPaths(folder.Path("{a,b}*.csv")).status()));
}

}  // namespace
}  // namespace capstan
