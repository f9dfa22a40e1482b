#include "capstan/base/glob_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::ElementsAre;

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
