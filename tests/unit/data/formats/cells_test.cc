#include "capstan/data/formats/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/field_key.h"
#include "capstan/data/formats/record_parser.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

std::optional<std::vector<std::string>> Cells(std::string_view line,
                                              v1::DataFormat format = v1::DATA_FORMAT_CSV) {
  CellScanner scanner(format);
  scanner.Begin(line);
  std::vector<std::string> cells;
  for (std::string_view cell; scanner.Next(cell);) cells.emplace_back(cell);
  if (scanner.malformed()) return std::nullopt;
  return cells;
}

TEST(CellScannerTest, CutsAtTheSeparatorAndKeepsEmptyCells) {
  EXPECT_THAT(Cells("a,b"), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(Cells(",,"), Optional(ElementsAre("", "", "")));
  EXPECT_THAT(Cells(""), Optional(ElementsAre("")));
  EXPECT_THAT(Cells("a,b\tc", v1::DATA_FORMAT_TSV), Optional(ElementsAre("a,b", "c")));
}

TEST(CellScannerTest, UnderstandsQuotesInCsvOnly) {
  EXPECT_THAT(Cells(R"("a,b",c)"), Optional(ElementsAre("a,b", "c")));
  EXPECT_THAT(Cells(R"(x,"say ""hi""")"), Optional(ElementsAre("x", R"(say "hi")")));
  EXPECT_THAT(Cells(R"("","")"), Optional(ElementsAre("", "")));
  EXPECT_THAT(Cells(R"(5" disk,b)"), Optional(ElementsAre(R"(5" disk)", "b")));
  EXPECT_THAT(Cells("\"a\tb", v1::DATA_FORMAT_TSV), Optional(ElementsAre("\"a", "b")));
}

TEST(CellScannerTest, CallsAQuoteThatDoesNotEndWithTheCellMalformed) {
  EXPECT_EQ(Cells(R"(a,"b)"), std::nullopt);
  EXPECT_EQ(Cells(R"("a"b,c)"), std::nullopt);
  EXPECT_EQ(Cells(R"(")"), std::nullopt);
}

// Columns: 0 label, 1 number, 2 logarithm, 3 bucket at 10 and 20, 4 and 5 categorical, 6 unused.
v1::DataSpec AllKinds() {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_columns(7);
  data.set_numeric_scale(2);
  data.add_numeric()->set_column(1);
  data.mutable_numeric(0)->set_missing(-1);
  data.add_numeric()->set_column(2);
  data.mutable_numeric(1)->set_transform(v1::NUMERIC_TRANSFORM_LOG);
  data.add_numeric()->set_column(3);
  data.mutable_numeric(2)->set_transform(v1::NUMERIC_TRANSFORM_BUCKET);
  data.mutable_numeric(2)->add_boundaries(10);
  data.mutable_numeric(2)->add_boundaries(20);
  data.add_categorical()->set_column(4);
  data.add_categorical()->set_column(5);
  return data;
}

struct ParsedCells {
  bool ok;
  Batch records;
  std::string error;
};

ParsedCells Parse(std::initializer_list<std::string_view> lines,
                  Labels labels = Labels::kRequired) {
  const v1::DataSpec data = AllKinds();
  auto parser = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1, labels));
  ParsedCells outcome = {};
  outcome.records.offsets = {0};
  for (std::string_view line : lines) {
    outcome.ok = parser->Parse(line, outcome.records, outcome.error);
  }
  return outcome;
}

TEST(CellParserTest, MakesKeysInOrderOfTheColumnsAndScaledNumbers) {
  ParsedCells outcome = Parse({"1,3,0,15,abc,0f,unused", "0,,-1.5,,,0f,"});
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_THAT(outcome.records.labels, ElementsAre(1, 0));
  EXPECT_THAT(outcome.records.offsets, ElementsAre(0, 3, 6));
  EXPECT_THAT(outcome.records.keys,
              ElementsAre(FieldKey(3, "1"), FieldKey(4, "abc"), FieldKey(5, "0f"), FieldKey(3, ""),
                          FieldKey(4, ""), FieldKey(5, "0f")));
  EXPECT_THAT(outcome.records.dense,
              ElementsAre(6, 0, -2, testing::FloatEq(-2 * std::log1p(1.5f))));
  EXPECT_TRUE(outcome.records.values.empty());
}

TEST(CellParserTest, ABoundaryBelongsToTheBucketAboveIt) {
  ParsedCells outcome = Parse({"1,0,0,9.9,a,b,", "1,0,0,10,a,b,", "1,0,0,20,a,b,"});
  EXPECT_EQ(outcome.records.keys[0], FieldKey(3, "0"));
  EXPECT_EQ(outcome.records.keys[3], FieldKey(3, "1"));
  EXPECT_EQ(outcome.records.keys[6], FieldKey(3, "2"));
}

TEST(CellParserTest, ReadsARecordToBeScoredTheSameWithAnyLabelAndWithoutOne) {
  const ParsedCells labelled = Parse({"1,3,0,15,abc,0f,unused"});
  for (const char* line : {"3,0,15,abc,0f,unused", "?,3,0,15,abc,0f,unused"}) {
    const ParsedCells scored = Parse({line}, Labels::kIgnored);
    ASSERT_TRUE(scored.ok) << scored.error;
    EXPECT_EQ(scored.records.keys, labelled.records.keys);
    EXPECT_EQ(scored.records.dense, labelled.records.dense);
    EXPECT_THAT(scored.records.labels, ElementsAre(0));
  }
  EXPECT_FALSE(Parse({"0,15,abc,0f,unused"}, Labels::kIgnored).ok);
}

TEST(CellParserTest, SaysWhatWasExpectedAndAppendsNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {"1,2,3,4,5,6", "6 columns, expected 7"},
      {"1,2,3,4,5,6,7,8", "8 columns, expected 7"},
      {"1", "1 columns, expected 7"},
      {"x,2,3,4,5,6,7",
       "column 0: label \"x\" is not a number; where labels are texts, set data.schema.positive to "
       "those that count as 1, such as \"x\""},
      {"2,2,3,4,5,6,7",
       "column 0: label is 2, expected 0 or 1 (logistic loss; a label threshold "
       "makes two classes)"},
      {"1,two,3,4,5,6,7", "column 1: \"two\" is not a number"},
      {"1,2,nan,4,5,6,7",
       "column 2: \"nan\" is not a number; where one is missing the cell is empty"},
      {"1,2, N/A ,4,5,6,7",
       "column 2: \" N/A \" is not a number; where one is missing the cell is empty"},
      {"1,2, ,4,5,6,7", "column 2: \" \" is not a number; where one is missing the cell is empty"},
      {"1,2,3,1e99,5,6,7", "column 3: \"1e99\" is not a number"},
      {"1,2,3,4,\"5,6,7", "column 4: a quote that does not end with the cell"},
      {"1,\x01\xFF,3,4,5,6,7", "column 1: \"\\x01\\xff\" is not a number"},
  };
  for (const auto& [line, expected] : cases) {
    ParsedCells outcome = Parse({"1,2,3,4,5,6,7", line});
    EXPECT_FALSE(outcome.ok) << line;
    EXPECT_EQ(outcome.error, expected);
    EXPECT_EQ(outcome.records.labels.size(), 1u);
    EXPECT_EQ(outcome.records.keys.size(), 3u);
    EXPECT_EQ(outcome.records.dense.size(), 2u);
    EXPECT_EQ(outcome.records.offsets.size(), 2u);
  }
}

TEST(FieldKeyTest, StaysTheSameForEver) {
  EXPECT_EQ(FieldKey(14, "68fd1e64"), 10427276278615006947u);
  EXPECT_NE(FieldKey(1, "7"), FieldKey(2, "7"));
  EXPECT_NE(FieldKey(1, "7"), FieldKey(1, "07"));
}

// A label and a number that is standardized, found by their names.
v1::DataSpec Named() {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_columns(3);
  data.set_numeric_scale(1);
  data.set_label_name("income");
  data.set_label_column(2);
  v1::ColumnSpec& age = *data.add_numeric();
  age.set_name("age");
  age.set_transform(v1::NUMERIC_TRANSFORM_STANDARD);
  age.set_mean(40);
  age.set_deviation(10);
  return data;
}

TEST(CellParserTest, AStandardizedNumberCountsDeviationsFromTheMeanAndAnEmptyCellIsTheMean) {
  const v1::DataSpec data = Named();
  auto parser = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1));
  Batch records;
  records.offsets = {0};
  std::string error;
  for (const char* line : {"55,x,1", "40,x,0", ",x,0"}) {
    ASSERT_TRUE(parser->Parse(line, records, error)) << error;
  }
  EXPECT_THAT(records.dense, ElementsAre(1.5f, 0, 0));
  EXPECT_FALSE(parser->Parse("old,x,1", records, error));
  EXPECT_EQ(error, "column 0 (age): \"old\" is not a number");
}

TEST(CellParserTest, AWeightIsANumberFromZeroOnAndARecordWithoutOneIsBad) {
  v1::DataSpec data = Named();
  data.mutable_weight()->set_column(1);
  data.mutable_weight()->set_name("people");
  auto parser = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1));
  Batch records;
  records.offsets = {0};
  std::string error;
  for (const char* line : {"55,2.5,1", "40,0,0"}) {
    ASSERT_TRUE(parser->Parse(line, records, error)) << error;
  }
  for (const char* weight : {"-1", "", "much", "inf", "nan"}) {
    EXPECT_FALSE(parser->Parse(absl::StrCat("40,", weight, ",0"), records, error)) << weight;
  }
  EXPECT_EQ(error, "column 1 (people): weight \"nan\" is not a number from 0 on");
  EXPECT_THAT(records.weights, ElementsAre(2.5f, 0));
  EXPECT_THAT(records.labels, ElementsAre(1, 0));
}

TEST(CellParserTest, AGroupIsTheHashOfItsCellWhateverElseTheColumnIsUsedFor) {
  v1::DataSpec data = Named();
  data.add_categorical()->set_column(1);
  data.mutable_group()->set_column(1);
  auto parser = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1));
  Batch records;
  records.offsets = {0};
  std::string error;
  for (const char* line : {"55,ann,1", "40,bob,0", "41,ann,0", "42,,1"}) {
    ASSERT_TRUE(parser->Parse(line, records, error)) << error;
  }
  EXPECT_FALSE(parser->Parse("old,cy,1", records, error));
  EXPECT_THAT(records.groups,
              ElementsAre(HashText("ann"), HashText("bob"), HashText("ann"), HashText("")));
  EXPECT_EQ(records.keys.size(), 4u);
}

TEST(CellParserTest, ALineOfNamesMustHaveThoseOfTheSchemaInTheirPlaces) {
  const v1::DataSpec data = Named();
  auto parser = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1));
  std::string error;
  EXPECT_TRUE(parser->CheckHeader("age,anything, income", error)) << error;
  EXPECT_FALSE(parser->CheckHeader("age,income,job", error));
  EXPECT_EQ(error, "column 2 is named \"job\", expected \"income\" as in the first training file");
  EXPECT_FALSE(parser->CheckHeader("age,income", error));
  auto scoring = NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1, Labels::kIgnored));
  EXPECT_TRUE(scoring->CheckHeader("age,anything", error)) << "records to be scored lack the label";
  EXPECT_FALSE(scoring->CheckHeader("age,income", error)) << "another column is missing";
  EXPECT_THAT(error, HasSubstr("2 columns, expected 3 as in the first training file"));
}

}  // namespace
}  // namespace capstan
