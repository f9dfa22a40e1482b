#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/data/formats/record_parser.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PairParserTest : public testing::Test {
 protected:
  void Make(uint32_t fields, Labels labels = Labels::kRequired) {
    v1::DataSpec data;
    data.set_format(v1::DATA_FORMAT_LIBSVM);
    data.set_binarize_label(true);
    data.set_fields(fields);
    parser_ = NewPairParser(data, LabelRule(data, v1::LOSS_LOGISTIC, 1, labels));
  }

  bool Parse(std::string_view line) { return parser_->Parse(line, records_, error_); }

  std::unique_ptr<RecordParser> parser_;
  Batch records_ = {.offsets = {0}};
  std::string error_;
};

TEST_F(PairParserTest, KeepsNoValuesWhileAllAreOne) {
  Make(/*fields=*/0);
  ASSERT_TRUE(Parse("-1 3:1 11:1 "));
  ASSERT_TRUE(Parse("+1\t7:1.0  # a comment 9:9"));
  ASSERT_TRUE(Parse("1"));
  EXPECT_THAT(records_.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(records_.keys, ElementsAre(3, 11, 7));
  EXPECT_THAT(records_.offsets, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(records_.values, IsEmpty());
}

TEST_F(PairParserTest, KeepsAllValuesFromTheFirstOneOnThatIsNotOne) {
  Make(/*fields=*/0);
  ASSERT_TRUE(Parse("1 5:1 6:1"));
  ASSERT_TRUE(Parse("1 5:1 6:0.5 7:1"));
  ASSERT_TRUE(Parse("1 8:1"));
  EXPECT_THAT(records_.values, ElementsAre(1, 1, 1, 0.5, 1, 1));
}

TEST_F(PairParserTest, ReadsARecordToBeScoredWithAnyLabelAndWithoutOne) {
  Make(/*fields=*/2, Labels::kIgnored);
  for (const char* line : {"1 3:1 4:1", "3:1 4:1", "? 3:1 4:1"}) ASSERT_TRUE(Parse(line)) << error_;
  EXPECT_THAT(records_.keys, ElementsAre(3, 4, 3, 4, 3, 4));
  EXPECT_THAT(records_.labels, ElementsAre(0, 0, 0));
}

TEST_F(PairParserTest, SaysWhatWasExpectedAndAppendsNothing) {
  Make(/*fields=*/2);
  const std::pair<const char*, const char*> cases[] = {
      {"", "label \"\" is not a number"},
      {"yes 1:1 2:1", "label \"yes\" is not a number"},
      {"1 1:1 2", "\"2\" is not index:value"},
      {"1 1:1 2:", "\"2:\" is not index:value"},
      {"1 1:1 :3", "\":3\" is not index:value"},
      {"1 1:1 -2:1", "\"-2:1\" is not index:value"},
      {"1 1:1 2:inf", "\"2:inf\" is not index:value"},
      {"1 1:1 2:3:4", "\"2:3:4\" is not index:value"},
      {"1 1:1 2:0.5 3:1", "3 features, expected 2"},
  };
  ASSERT_TRUE(Parse("1 5:1 6:1"));
  for (const auto& [line, expected] : cases) {
    EXPECT_FALSE(Parse(line)) << line;
    EXPECT_EQ(error_, expected);
    EXPECT_THAT(records_.keys, ElementsAre(5, 6));
    EXPECT_THAT(records_.values, IsEmpty());
    EXPECT_THAT(records_.offsets, ElementsAre(0, 2));
  }
}

}  // namespace
}  // namespace capstan
