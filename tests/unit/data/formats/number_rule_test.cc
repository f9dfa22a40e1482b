#include "capstan/data/formats/number_rule.h"

#include <gtest/gtest.h>

#include <limits>

#include "capstan/data/formats/field_key.h"

namespace capstan {
namespace {

v1::ColumnSpec ColumnWith(v1::NumericTransform transform) {
  v1::ColumnSpec spec;
  spec.set_column(3);
  spec.set_transform(transform);
  return spec;
}

TEST(NumberRuleTest, APlainNumberIsScaledAndSoIsWhatStandsForAnEmptyCell) {
  v1::ColumnSpec spec = ColumnWith(v1::NUMERIC_TRANSFORM_UNSPECIFIED);
  spec.set_missing(-4);
  const NumberRule rule(spec, /*scale=*/0.5F);
  EXPECT_FALSE(rule.buckets());
  EXPECT_EQ(rule.Number(3), 1.5F);
  EXPECT_EQ(rule.missing_number(), -2);
}

TEST(NumberRuleTest, TheLogarithmKeepsTheSign) {
  const NumberRule rule(ColumnWith(v1::NUMERIC_TRANSFORM_LOG), /*scale=*/2);
  EXPECT_EQ(rule.Number(0), 0);
  EXPECT_FLOAT_EQ(rule.Number(1.7182818F), 2);  // 2 log(1 + (e - 1)).
  EXPECT_FLOAT_EQ(rule.Number(-1.7182818F), -2);
  EXPECT_FLOAT_EQ(rule.Number(std::numeric_limits<float>::max()), 2 * 88.7228394F);
}

TEST(NumberRuleTest, AStandardizedNumberCountsDeviationsAndAnEmptyCellSaysThemItself) {
  v1::ColumnSpec spec = ColumnWith(v1::NUMERIC_TRANSFORM_STANDARD);
  spec.set_mean(16777217);  // No float: 2^24 + 1.
  spec.set_deviation(0.5);
  spec.set_missing(1.5);
  const NumberRule rule(spec, /*scale=*/1);
  EXPECT_EQ(rule.Number(16777218), 2);
  EXPECT_EQ(rule.Number(16777216), -2);
  EXPECT_EQ(rule.missing_number(), 1.5F);
}

TEST(NumberRuleTest, ADeviationThatIsNotMeasuredYetIsOne) {
  v1::ColumnSpec spec = ColumnWith(v1::NUMERIC_TRANSFORM_STANDARD);
  spec.set_mean(2);
  EXPECT_EQ(NumberRule(spec, /*scale=*/1).Number(5), 3);
}

TEST(NumberRuleTest, ABucketReachesFromItsBoundaryUpToTheNextOne) {
  v1::ColumnSpec spec = ColumnWith(v1::NUMERIC_TRANSFORM_BUCKET);
  spec.add_boundaries(-1);
  spec.add_boundaries(2.5);
  const NumberRule rule(spec, /*scale=*/100);
  EXPECT_TRUE(rule.buckets());
  EXPECT_EQ(rule.Key(std::numeric_limits<float>::lowest()), FieldKey(3, "0"));
  EXPECT_EQ(rule.Key(-1.001F), FieldKey(3, "0"));
  EXPECT_EQ(rule.Key(-1), FieldKey(3, "1"));
  EXPECT_EQ(rule.Key(2.499F), FieldKey(3, "1"));
  EXPECT_EQ(rule.Key(2.5F), FieldKey(3, "2")) << "boundaries are not scaled";
  EXPECT_EQ(rule.Key(std::numeric_limits<float>::max()), FieldKey(3, "2"));
  EXPECT_EQ(rule.missing_key(), FieldKey(3, ""));
}

TEST(NumberRuleTest, WithoutBoundariesThereIsOneBucket) {
  const NumberRule rule(ColumnWith(v1::NUMERIC_TRANSFORM_BUCKET), /*scale=*/1);
  EXPECT_EQ(rule.Key(7), FieldKey(3, "0"));
}

}  // namespace
}  // namespace capstan
