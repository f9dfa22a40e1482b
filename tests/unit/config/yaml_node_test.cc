#include "capstan/config/yaml_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string WhyRefused(const std::string& text) {
  const absl::StatusOr<YamlNode> node = ParseYaml(text, "f");
  EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(node.status().message());
}

TEST(ParseYamlTest, KeepsOrderAndPlaces) {
  const absl::StatusOr<YamlNode> root = ParseYaml("a: 1\nb:\n  - x\n  - \"2\"\n", "f");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_EQ(root->entries.size(), 2u);
  EXPECT_EQ(root->entries[0].key, "a");
  EXPECT_EQ(root->entries[0].value.text, "1");
  EXPECT_FALSE(root->entries[0].value.quoted);
  EXPECT_EQ(root->entries[1].place, "f:2");
  const YamlNode& list = root->entries[1].value;
  ASSERT_EQ(list.entries.size(), 2u);
  EXPECT_EQ(list.entries[1].value.place, "f:4");
  EXPECT_TRUE(list.entries[1].value.quoted);
}

TEST(ParseYamlTest, BadSyntaxIsRefusedWithItsLine) {
  EXPECT_THAT(WhyRefused("a: 1\nb: [1, 2\n"), StartsWith("f:"));
  EXPECT_THAT(WhyRefused("a: 1\n\tb: 2\n"), StartsWith("f:2: "));
  EXPECT_THAT(WhyRefused("a: b: c\n"), StartsWith("f:1: "));
}

TEST(ParseYamlTest, AnchorsAliasesTagsAndMoreDocumentsAreRefused) {
  EXPECT_EQ(WhyRefused("a: &x 1\n"), "f:1: anchors are not supported");
  EXPECT_EQ(WhyRefused("a: &x [1]\nb: *x\n"), "f:1: anchors are not supported");
  EXPECT_EQ(WhyRefused("a: !!binary x\n"), "f:1: tags are not supported");
  EXPECT_EQ(WhyRefused("a: 1\n---\nb: 1\n"), "f: holds more than one document");
  EXPECT_EQ(WhyRefused("? [a]\n: 1\n"), "f:1: a key must be a word");
}

TEST(ParseYamlTest, ABombOfAliasesIsRefusedBeforeItExpands) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before = "*" + std::string(1, c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + before + ", " + before + ", " + before + "]\n";
  }
  EXPECT_THAT(WhyRefused(bomb), HasSubstr("not supported"));
}

TEST(ParseYamlTest, HugeTextsAreRefusedQuickly) {
  EXPECT_EQ(WhyRefused(std::string((1 << 20) + 1, '#')), "f: larger than 1048576 bytes");
  std::string many = "a: [";
  for (int i = 0; i < 100000; ++i) many += "1,";
  EXPECT_EQ(WhyRefused(many + "1]"), "f:1: more than 20000 values");
}

TEST(ParseYamlTest, DeepNestingIsRefused) {
  EXPECT_THAT(WhyRefused(std::string(40, '[') + std::string(40, ']')), HasSubstr("deeper"));
  EXPECT_THAT(WhyRefused(std::string(200000, '[')), StartsWith("f:"));
  std::string blocks;
  for (int depth = 0; depth < 300; ++depth) blocks += std::string(depth, ' ') + "a:\n";
  EXPECT_THAT(WhyRefused(blocks), HasSubstr("deeper"));
}

TEST(ParseYamlTest, BytesThatAreNoTextAreRefusedOrRead) {
  for (int byte = 0; byte < 256; ++byte) {
    ParseYaml(std::string("a: ") + static_cast<char>(byte) + "\n", "f").status().IgnoreError();
    ParseYaml(std::string(3, static_cast<char>(byte)), "f").status().IgnoreError();
  }
}

TEST(ParseYamlTest, SaysThatATabIndentsALine) {
  for (const char* text :
       {"job: demo\ndata:\n\tformat: csv\n", "job: demo\ndata:\n  schema:\n  \t  label: 0\n"}) {
    EXPECT_THAT(ParseYaml(text, "job.yaml").status().message(),
                testing::HasSubstr("is indented by a tab; YAML wants spaces there"))
        << text;
  }
  EXPECT_EQ(ParseYaml("a: 1\nb:\n\tc: 2\n", "job.yaml").status().message(),
            "job.yaml:3: is indented by a tab; YAML wants spaces there");
}

}  // namespace
}  // namespace capstan
