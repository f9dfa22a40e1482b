#include "capstan/data/parquet/cell_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/data/parquet/values.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kBeyond = std::numeric_limits<float>::infinity();

Column ColumnOfType(Physical physical, bool list = false) {
  return {.name = "x", .physical = physical, .list = list};
}

Values FloatValues(std::vector<float> floats) { return {.floats = std::move(floats)}; }
Values IntegerValues(std::vector<int64_t> integers) { return {.integers = std::move(integers)}; }
Values TextValues(std::vector<std::string_view> texts) { return {.texts = std::move(texts)}; }

Converted ConvertedBy(const CellRule& rule, const Column& column, const Values& values) {
  Converted converted;
  converted.numbers = {99};  // Of the values before.
  rule.Convert(column, values, converted);
  return converted;
}

CellRule SevenIfMissing() {
  v1::ColumnSpec spec;
  spec.set_missing(-7);
  return CellRule::Numeric(spec, /*scale=*/1);
}

v1::FeatureSpec ManyIds(bool weighted) {
  v1::FeatureSpec spec;
  spec.set_name("clicked");
  spec.set_kind(v1::KEY_KIND_ID);
  spec.set_many(true);
  spec.set_separator("|");
  spec.set_most(3);
  if (weighted) spec.mutable_weights()->set_name("times");
  return spec;
}

TEST(CellRuleTest, NumbersOfEveryTypeAreNumbers) {
  const Converted floats = ConvertedBy(SevenIfMissing(), ColumnOfType(Physical::kFloat),
                                       FloatValues({1.5f, kNoNumber, kBeyond, -0.0f}));
  EXPECT_THAT(floats.numbers, ElementsAre(1.5f, -7, testing::_, 0));
  EXPECT_THAT(floats.bad, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(SevenIfMissing().Error(ColumnOfType(Physical::kFloat), FloatValues({1.5f, kBeyond}), 1),
            "\"inf\" is not a number");
  const Converted texts = ConvertedBy(SevenIfMissing(), ColumnOfType(Physical::kByteArray),
                                      TextValues({"2.5", "", "x"}));
  EXPECT_THAT(texts.numbers, ElementsAre(2.5f, -7, testing::_));
  EXPECT_THAT(texts.bad, ElementsAre(0, 0, 1));
  EXPECT_THAT(ConvertedBy(SevenIfMissing(), ColumnOfType(Physical::kBoolean), IntegerValues({1, 0}))
                  .numbers,
              ElementsAre(1, 0));
  EXPECT_THAT(
      ConvertedBy(SevenIfMissing(), ColumnOfType(Physical::kInt64), IntegerValues({-1})).numbers,
      ElementsAre(-1));
  Column unsigned_column = ColumnOfType(Physical::kInt64);
  unsigned_column.is_unsigned = true;
  EXPECT_THAT(ConvertedBy(SevenIfMissing(), unsigned_column, IntegerValues({-1})).numbers,
              ElementsAre(18446744073709551616.0f));
}

TEST(CellRuleTest, ACategoryIsItsTextWhateverTheType) {
  const CellRule rule = CellRule::Category(3);
  const auto key = [&rule](const Column& column, const Values& values) {
    return ConvertedBy(rule, column, values).keys.at(0);
  };
  const auto of_text = [&key](std::string_view text) {
    return key(ColumnOfType(Physical::kByteArray), TextValues({text}));
  };
  EXPECT_EQ(key(ColumnOfType(Physical::kInt32), IntegerValues({38})), of_text("38"));
  EXPECT_NE(of_text("038"), of_text("38"));
  EXPECT_EQ(key(ColumnOfType(Physical::kBoolean), IntegerValues({1})), of_text("true"));
  EXPECT_EQ(key(ColumnOfType(Physical::kFixed), TextValues({"true"})), of_text("true"));
  Column unsigned_column = ColumnOfType(Physical::kInt64);
  unsigned_column.is_unsigned = true;
  EXPECT_EQ(key(unsigned_column, IntegerValues({-1})), of_text("18446744073709551615"));
  EXPECT_EQ(key(ColumnOfType(Physical::kInt64), IntegerValues({-1})), of_text("-1"));
  Converted missing;
  rule.ConvertMissing(missing);
  EXPECT_THAT(missing.keys, ElementsAre(of_text("")));
  EXPECT_NE(
      ConvertedBy(CellRule::Category(4), ColumnOfType(Physical::kInt32), IntegerValues({38})).keys,
      ConvertedBy(rule, ColumnOfType(Physical::kInt32), IntegerValues({38})).keys)
      << "a value means something else in another column";
}

TEST(CellRuleTest, AnEmptyWeightOfAnExampleIsNone) {
  const CellRule rule = CellRule::Weight();
  const Converted weights =
      ConvertedBy(rule, ColumnOfType(Physical::kDouble), {.doubles = {0, 2.5, -1, std::nan("")}});
  EXPECT_THAT(weights.bad, ElementsAre(0, 0, 1, 1));
  EXPECT_NE(rule.Error(ColumnOfType(Physical::kDouble), {.doubles = {-1}}, 0), "");
  Converted missing;
  rule.ConvertMissing(missing);
  EXPECT_THAT(missing.bad, ElementsAre(1));
  EXPECT_NE(rule.MissingError(), "");
}

TEST(CellRuleTest, ABadValueOfAFeatureLeavesNoKeys) {
  const CellRule rule = CellRule::Feature(FeatureRule(ManyIds(/*weighted=*/true), nullptr));
  const Values values = TextValues({"1|x", "2||3", "", "4|5|6|7"});
  const Converted converted = ConvertedBy(rule, ColumnOfType(Physical::kByteArray), values);
  EXPECT_THAT(converted.keys, ElementsAre(2, 3, 4, 5, 6)) << "three at most";
  EXPECT_THAT(converted.ends, ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(converted.bad, ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(converted.counts, ElementsAre(2, 2, 0, 4)) << "also those beyond the most";
  EXPECT_THAT(rule.Error(ColumnOfType(Physical::kByteArray), values, 0),
              HasSubstr("\"x\" is not an id"));
}

TEST(CellRuleTest, AnEmptyCellHasNoWeightsInEveryType) {
  const CellRule rule = CellRule::BagWeights(BagWeightRule(ManyIds(/*weighted=*/true)));
  const Converted texts =
      ConvertedBy(rule, ColumnOfType(Physical::kByteArray), TextValues({"0.5|2", ""}));
  EXPECT_THAT(texts.numbers, ElementsAre(0.5f, 2));
  EXPECT_THAT(texts.ends, ElementsAre(2, 2));
  EXPECT_THAT(texts.counts, ElementsAre(2, 0));
  for (const Physical physical : {Physical::kFloat, Physical::kDouble}) {
    const Values values = physical == Physical::kFloat ? FloatValues({0.5f, kNoNumber, 2})
                                                       : Values{.doubles = {0.5, std::nan(""), 2}};
    const Converted numbers = ConvertedBy(rule, ColumnOfType(physical), values);
    EXPECT_THAT(numbers.numbers, ElementsAre(0.5f, 2));
    EXPECT_THAT(numbers.ends, ElementsAre(1, 1, 2));
    EXPECT_THAT(numbers.counts, ElementsAre(1, 0, 1));
    EXPECT_THAT(numbers.bad, ElementsAre(0, 0, 0));
  }
  Converted missing;
  rule.ConvertMissing(missing);
  EXPECT_THAT(missing.numbers, IsEmpty());
  EXPECT_THAT(missing.counts, ElementsAre(0));
  const Converted list = ConvertedBy(rule, ColumnOfType(Physical::kFloat, /*list=*/true),
                                     FloatValues({0.5f, kNoNumber}));
  EXPECT_THAT(list.bad, ElementsAre(0, 1)) << "one of a list stands for a value";
}

TEST(CellRuleTest, SaysWhichColumnsItCannotConvert) {
  const CellRule category = CellRule::Category(0);
  EXPECT_EQ(category.WhyNot(ColumnOfType(Physical::kInt64)), "");
  EXPECT_THAT(category.WhyNot(ColumnOfType(Physical::kDouble)),
              HasSubstr("is DOUBLE, and a categorical"));
  EXPECT_THAT(CellRule::Group().WhyNot(ColumnOfType(Physical::kFloat)),
              HasSubstr("the name of a group"));
  EXPECT_EQ(SevenIfMissing().WhyNot(ColumnOfType(Physical::kDouble)), "");
  EXPECT_THAT(SevenIfMissing().WhyNot(ColumnOfType(Physical::kDouble, /*list=*/true)),
              HasSubstr("is a list"));
  v1::FeatureSpec one = ManyIds(/*weighted=*/false);
  EXPECT_EQ(
      CellRule::Feature(FeatureRule(one, nullptr)).WhyNot(ColumnOfType(Physical::kInt64, true)),
      "");
  one.set_many(false);
  EXPECT_THAT(
      CellRule::Feature(FeatureRule(one, nullptr)).WhyNot(ColumnOfType(Physical::kInt64, true)),
      HasSubstr("data.features.clicked says one value: many: true takes all of them"));
  Column map = ColumnOfType(Physical::kInt32);
  map.unreadable = "is a map or a struct";
  EXPECT_EQ(CellRule::Weight().WhyNot(map), "is a map or a struct");
}

}  // namespace
}  // namespace capstan::parquet
