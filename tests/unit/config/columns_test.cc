#include "capstan/config/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/declared_keys.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(ParseColumnsTest, NumbersAndRangesWithBothEnds) {
  EXPECT_THAT(ParseColumns("3"), Optional(ElementsAre(3)));
  EXPECT_THAT(ParseColumns("1-3, 7"), Optional(ElementsAre(1, 2, 3, 7)));
  EXPECT_THAT(ParseColumns("5-5"), Optional(ElementsAre(5)));
}

TEST(ParseColumnsTest, WhatIsNeitherIsNothing) {
  for (const char* text : {"", "a", "3-1", "1-", "-1", "1,,2", "1.5", "0x1", "1-2-3"}) {
    EXPECT_EQ(ParseColumns(text), std::nullopt) << text;
  }
}

TEST(ParseColumnsTest, ThereAreSoManyColumnsAtMost) {
  const std::string last = absl::StrCat(kMaxColumns - 1);
  EXPECT_THAT(ParseColumns(last), Optional(ElementsAre(kMaxColumns - 1)));
  EXPECT_EQ(ParseColumns(absl::StrCat(kMaxColumns)), std::nullopt);
  EXPECT_EQ(ParseColumns("0-" + last)->size(), kMaxColumns);
  EXPECT_EQ(ParseColumns("0-" + last + ",0"), std::nullopt) << "together they are too many";
}

// The columns under the key "c" of a text, or what is wrong with them.
struct Read {
  std::vector<v1::ColumnSpec> columns;
  std::string mistakes;
};

// The key is declared as data.schema.numeric is.
const DeclaredKey* FindC(absl::string_view key) {
  return FindDeclared(absl::StrCat("data.schema.numeric", key.substr(1)));
}

Read ReadText(const std::string& text, ColumnRules rules) {
  const absl::StatusOr<YamlNode> root = ParseYaml(text, "job.yaml");
  EXPECT_TRUE(root.ok()) << root.status();
  Findings findings("job.yaml");
  Read read;
  {
    Section in(&*root, findings, FindC);
    read.columns = ReadColumns(in, "c", rules);
  }
  read.mistakes = std::string(findings.status().message());
  return read;
}

TEST(ReadColumnsTest, NamesAreColumnsOnlyWhereTheFilesHaveThem) {
  const Read named = ReadText("c: [age, 3]\n", {.names = true});
  EXPECT_EQ(named.mistakes, "");
  ASSERT_EQ(named.columns.size(), 2u);
  EXPECT_EQ(named.columns[0].name(), "age");
  EXPECT_EQ(named.columns[1].column(), 3u);
  const Read counted = ReadText("c: age\n", {});
  EXPECT_THAT(counted.mistakes, HasSubstr("job.yaml:1: c: \"age\" is not columns such as 3"));
  EXPECT_TRUE(counted.columns.empty());
}

TEST(ReadColumnsTest, AMapTransformsAllItsColumns) {
  const Read read =
      ReadText("c: [7, {columns: \"1-2\", transform: bucket, boundaries: [1, 10], missing: 4}]\n",
               {.transforms = true});
  EXPECT_EQ(read.mistakes, "");
  ASSERT_EQ(read.columns.size(), 3u);
  EXPECT_EQ(read.columns[0].transform(), v1::NUMERIC_TRANSFORM_UNSPECIFIED);
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(read.columns[i].column(), i);
    EXPECT_EQ(read.columns[i].transform(), v1::NUMERIC_TRANSFORM_BUCKET);
    EXPECT_THAT(read.columns[i].boundaries(), ElementsAre(1, 10));
    EXPECT_EQ(read.columns[i].missing(), 4);
  }
}

TEST(ReadColumnsTest, ATransformHasWhatItNeedsAndNothingElse) {
  const auto mistakes = [](const std::string& map) {
    return ReadText(absl::StrCat("c: {", map, "}\n"), {.transforms = true}).mistakes;
  };
  EXPECT_THAT(mistakes("transform: log"), HasSubstr("c[0].columns: is missing"));
  EXPECT_THAT(mistakes("columns: 1, transform: bucket"), HasSubstr("bucket needs them"));
  EXPECT_THAT(mistakes("columns: 1, boundaries: [1]"), HasSubstr("only for transform: bucket"));
  EXPECT_THAT(mistakes("columns: 1, transform: bucket, boundaries: [2, 2]"),
              HasSubstr("must ascend"));
  EXPECT_THAT(mistakes("columns: 1, mean: 2, deviation: 1"),
              HasSubstr("only for a transform: standard"));
  EXPECT_THAT(mistakes("columns: 1, transform: standard, mean: 2"),
              HasSubstr("deviation: is missing beside mean"));
  EXPECT_EQ(mistakes("columns: 1, transform: standard"), "") << "then both are measured";
  EXPECT_EQ(mistakes("columns: 1, transform: standard, file: numbers.tsv"), "");
  EXPECT_THAT(mistakes("columns: 1, transform: log, file: numbers.tsv"),
              HasSubstr("file: is only for a transform: standard"));
  EXPECT_THAT(mistakes("columns: 1, transform: standard, file: a.tsv, mean: 1, deviation: 2"),
              HasSubstr("file: cannot stand beside mean and deviation"));
  EXPECT_THAT(mistakes("columns: 1, transform: standard, file: \"\""), HasSubstr("file: is empty"));
}

}  // namespace
}  // namespace capstan
