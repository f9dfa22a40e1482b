#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/data/formats/record_parser.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The label, a bag of ids in column 1, and in column 2 a weight for each of them.
v1::DataSpec WeightedBag() {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_columns(3);
  v1::FeatureSpec& bag = *data.add_features();
  bag.set_name("bag");
  bag.set_column(1);
  bag.set_kind(v1::KEY_KIND_ID);
  bag.set_many(true);
  bag.set_separator("|");
  bag.set_most(2);
  bag.mutable_weights()->set_column(2);
  bag.mutable_weights()->set_name("w");
  return data;
}

std::unique_ptr<RecordParser> ParserOf(const v1::DataSpec& data) {
  return NewCellParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1));
}

TEST(CellParserTest, ALineThatIsRefusedLeavesTheBagsAsTheyWere) {
  const v1::DataSpec data = WeightedBag();
  const auto parser = ParserOf(data);
  Batch records = NoRecords(data);
  std::string error;
  ASSERT_TRUE(parser->Parse("1,7|8,0.5|2", records, error)) << error;
  const Batch before = records;
  for (const char* line :
       {"1,9|x,1|1", "1,9|9,1|x", "1,9|9,1", "1,9|9", "1,9|9,1|1,1", "2,9,1", "1,9,\"1"}) {
    EXPECT_FALSE(parser->Parse(line, records, error)) << line;
    EXPECT_TRUE(records == before) << line;
  }
  ASSERT_TRUE(parser->Parse("0,,", records, error)) << error;
  ASSERT_TRUE(parser->Parse("0,3,4", records, error)) << error;
  EXPECT_THAT(records.features[0].offsets, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(records.features[0].keys, ElementsAre(7, 8, 3));
  EXPECT_THAT(records.features[0].weights, ElementsAre(0.5F, 2, 4));
}

TEST(CellParserTest, EachValueHasOneWeightAlsoThoseThatDoNotCount) {
  const v1::DataSpec data = WeightedBag();
  const auto parser = ParserOf(data);
  Batch records = NoRecords(data);
  std::string error;
  EXPECT_TRUE(parser->Parse("1,7|8|9,1|2|3", records, error)) << error;
  EXPECT_THAT(records.features[0].keys, ElementsAre(7, 8));
  EXPECT_FALSE(parser->Parse("1,7|8|9,1|2", records, error));
  EXPECT_EQ(error, "column 2 (w): 2 weights for 3 values of bag; expected one each");
  EXPECT_FALSE(parser->Parse("1,,1", records, error));
  EXPECT_EQ(error, "column 2 (w): 1 weight for 0 values of bag; expected one each");
}

TEST(CellParserTest, WeightsMayStandBeforeTheirValues) {
  v1::DataSpec data = WeightedBag();
  data.mutable_features(0)->set_column(2);
  data.mutable_features(0)->mutable_weights()->set_column(1);
  const auto parser = ParserOf(data);
  Batch records = NoRecords(data);
  std::string error;
  ASSERT_TRUE(parser->Parse("1,0.5|2,7|8", records, error)) << error;
  EXPECT_THAT(records.features[0].keys, ElementsAre(7, 8));
  EXPECT_THAT(records.features[0].weights, ElementsAre(0.5F, 2));
  EXPECT_FALSE(parser->Parse("1,0.5,7|8", records, error));
  EXPECT_EQ(error, "column 1 (w): 1 weight for 2 values of bag; expected one each");
}

TEST(CellParserTest, ALineThatLacksAllOfItsLabelsIsNoRecord) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_TSV);
  data.set_columns(3);
  for (const uint32_t column : {2, 0}) {
    v1::LabelSpec& label = *data.add_labels();
    label.set_name("label" + std::to_string(column));
    label.set_column(column);
    label.set_may_be_missing(true);
  }
  data.add_categorical()->set_column(1);
  const auto parser = ParserOf(data);
  Batch records = NoRecords(data);
  std::string error;
  EXPECT_FALSE(parser->Parse("\tx\t", records, error));
  EXPECT_EQ(error, kNoLabelAtAll);
  EXPECT_THAT(records.labels, IsEmpty());
  EXPECT_THAT(records.keys, IsEmpty());
  ASSERT_TRUE(parser->Parse("1\tx\t", records, error)) << error;
  EXPECT_TRUE(std::isnan(records.labels[0])) << "the first label stands in the last column";
  EXPECT_EQ(records.labels[1], 1);
}

TEST(CellParserTest, AGroupIsNamedByTheCellAsItStands) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_columns(2);
  data.mutable_group()->set_column(1);
  const auto parser = ParserOf(data);
  Batch records = NoRecords(data);
  std::string error;
  for (const char* line : {"1,\"a,b\"", "0, a", "0,a"}) {
    ASSERT_TRUE(parser->Parse(line, records, error)) << error;
  }
  EXPECT_THAT(records.groups, ElementsAre(HashText("a,b"), HashText(" a"), HashText("a")));
}

}  // namespace
}  // namespace capstan
