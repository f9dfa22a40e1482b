#include "capstan/data/formats/bag_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::FeatureSpec Tags(v1::Pooling pooling) {
  v1::FeatureSpec tags;
  tags.set_name("tags");
  tags.set_many(true);
  tags.set_separator("|");
  tags.set_most(3);
  tags.set_pooling(pooling);
  tags.mutable_weights()->set_column(1);
  return tags;
}

std::string ErrorOf(const std::string& cell, v1::Pooling pooling) {
  std::vector<float> weights;
  std::string error;
  EXPECT_FALSE(BagWeightRule(Tags(pooling)).Append(cell, weights, error)) << cell;
  return error;
}

TEST(BagWeightRuleTest, ACellHoldsOneForEachValueAndTheFirstOnesCount) {
  const BagWeightRule rule(Tags(v1::POOLING_SUM));
  std::vector<float> weights;
  std::string error;
  ASSERT_TRUE(rule.Append("0.5|-2||1e-3|7", weights, error)) << error;
  EXPECT_THAT(weights, ElementsAre(0.5F, -2, 1e-3F));
  EXPECT_EQ(rule.CountOf("0.5|-2||1e-3|7"), 4u) << "an empty one is none";
  EXPECT_EQ(rule.CountOf(""), 0u);
}

TEST(BagWeightRuleTest, WhatIsNoNumberIsToldAsItStands) {
  EXPECT_THAT(ErrorOf("1|heavy", v1::POOLING_SUM),
              HasSubstr("weight \"heavy\" of tags is not a number"));
  EXPECT_THAT(ErrorOf("inf", v1::POOLING_NONE), HasSubstr("weight \"inf\""));
  EXPECT_THAT(ErrorOf("nan", v1::POOLING_MEAN), HasSubstr("weight \"nan\""));
}

TEST(BagWeightRuleTest, ThoseOfAMeanAreNotBelowZero) {
  EXPECT_THAT(ErrorOf("1|-0.5", v1::POOLING_MEAN),
              HasSubstr("weight \"-0.5\" of tags is not a number from 0 on, as pooling: mean"));
  std::vector<float> weights;
  std::string error;
  EXPECT_TRUE(BagWeightRule(Tags(v1::POOLING_MEAN)).Append("0|1", weights, error));
}

TEST(BagWeightRuleTest, AnotherNumberThanOfValuesIsAMistake) {
  const BagWeightRule rule(Tags(v1::POOLING_SUM));
  EXPECT_EQ(rule.WhyNot(2, 2), "");
  EXPECT_EQ(rule.WhyNot(3, 1), "3 weights for 1 value of tags; expected one each");
}

}  // namespace
}  // namespace capstan
