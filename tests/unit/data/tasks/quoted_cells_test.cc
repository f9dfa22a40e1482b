#include "capstan/data/tasks/quoted_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::HasSubstr;

std::string WarningOf(const std::string& text, v1::DataFormat format = v1::DATA_FORMAT_TSV) {
  const TestFolder folder;
  v1::DataSpec data;
  data.set_format(format);
  data.add_train(folder.Write("a.tsv", text));
  const absl::StatusOr<std::string> warning = QuotedCellsWarning(*NewLocalFiles(), data);
  EXPECT_TRUE(warning.ok()) << warning.status();
  return warning.value_or("");
}

TEST(QuotedCellsTest, TheFirstCellInQuotesIsToldWithItsPlace) {
  EXPECT_THAT(
      WarningOf("1\tred\n0\t\"dark \"\"red\"\"\"\t\n"),
      HasSubstr("a.tsv:2: column 1: \"\\\"dark \\\"\\\"red\\\"\\\"\\\"\" is in quotes, which "
                "in a tsv are a part of the text"));
  EXPECT_THAT(WarningOf("\"label\"\tcolour\r\n1\tred\r\n"), HasSubstr("a.tsv:1: column 0: "));
}

TEST(QuotedCellsTest, QuotesThatDoNotEncloseACellAreText) {
  EXPECT_EQ(WarningOf("1\t5\" disk\n0\t\"\n1\t\"a\" or \"b\" c\n"), "");
}

TEST(QuotedCellsTest, ACsvKnowsQuotes) {
  EXPECT_EQ(WarningOf("1,\"red\"\n", v1::DATA_FORMAT_CSV), "");
}

TEST(QuotedCellsTest, OnlyTheFirstLinesAreRead) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "1\tred\n";
  EXPECT_EQ(WarningOf(text + "1\t\"red\"\n"), "");
}

}  // namespace
}  // namespace capstan
