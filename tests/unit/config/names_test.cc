#include "capstan/config/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/yaml_node.h"

namespace capstan {
namespace {

using ::testing::EndsWith;

// Why a name is refused that stands at the key `user`; empty: it is not.
std::string WhyNoName(const std::string& name) {
  const absl::StatusOr<YamlNode> root = ParseYaml("{}\n", "job.yaml");
  EXPECT_TRUE(root.ok()) << root.status();
  Findings findings("job.yaml");
  {
    Section section(&*root, findings);
    CheckName(section, "user", name);
  }
  return std::string(findings.status().message());
}

TEST(CheckNameTest, LettersDigitsAndTwoSignsAreAName) {
  for (const std::string& name : {std::string("a"), std::string("User_id-2"), std::string("0"),
                                  std::string("-"), std::string(64, 'x')}) {
    EXPECT_EQ(WhyNoName(name), "") << name;
  }
}

TEST(CheckNameTest, WhatIsNoneIsShown) {
  for (const char* name : {"", "a b", "a.b", "a/b", "a[]", "\xC3\xBC", "a\n"}) {
    EXPECT_NE(WhyNoName(name), "") << name;
  }
  EXPECT_THAT(WhyNoName("a.b"),
              EndsWith("user: \"a.b\" is not a name of at most 64 letters, digits, _ and -"));
  EXPECT_THAT(WhyNoName(std::string(65, 'x')),
              EndsWith(absl::StrCat("user: \"", std::string(60, 'x'),
                                    "\"... is not a name of at "
                                    "most 64 letters, digits, _ and -")));
}

TEST(CheckNameTest, WhereKeysAreListedTheNameOfAnyKeyIsOne) { EXPECT_EQ(WhyNoName("<name>"), ""); }

}  // namespace
}  // namespace capstan
