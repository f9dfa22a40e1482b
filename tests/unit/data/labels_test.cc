#include "capstan/data/labels.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

struct ParsedLabel {
  bool ok;
  float label;
  std::string error;
};

ParsedLabel Try(const LabelRule& rule, std::string_view text) {
  ParsedLabel outcome = {};
  outcome.ok = rule.Parse(text, outcome.label, outcome.error);
  return outcome;
}

v1::DataSpec Threshold(float threshold) {
  v1::DataSpec data;
  data.set_binarize_label(true);
  data.set_label_threshold(threshold);
  return data;
}

TEST(LabelRuleTest, LogisticAdmitsZeroAndOneOnly) {
  LabelRule rule({}, v1::LOSS_LOGISTIC, 1);
  EXPECT_EQ(Try(rule, "1").label, 1.0f);
  EXPECT_TRUE(Try(rule, "0").ok);
  EXPECT_EQ(Try(rule, "-1").error,
            "label is -1, expected 0 or 1 (logistic loss; a label threshold makes two classes)");
  EXPECT_FALSE(Try(rule, "0.5").ok);
}

TEST(LabelRuleTest, AThresholdMakesTwoClasses) {
  LabelRule rule(Threshold(0), v1::LOSS_LOGISTIC, 1);
  EXPECT_EQ(Try(rule, "-1").label, 0.0f);
  EXPECT_EQ(Try(rule, "0").label, 0.0f);
  EXPECT_EQ(Try(rule, "+1").label, 1.0f);
}

TEST(LabelRuleTest, SoftmaxAdmitsWholeNumbersBelowTheClasses) {
  LabelRule rule({}, v1::LOSS_SOFTMAX, 10);
  EXPECT_EQ(Try(rule, "9").label, 9.0f);
  EXPECT_EQ(Try(rule, "10").error, "label is 10, expected a class, 0 to 9");
  EXPECT_FALSE(Try(rule, "-1").ok);
  EXPECT_FALSE(Try(rule, "1.5").ok);
}

TEST(LabelRuleTest, SquaredAdmitsEveryFiniteNumber) {
  LabelRule rule({}, v1::LOSS_SQUARED, 1);
  EXPECT_EQ(Try(rule, "-3.5").label, -3.5f);
  EXPECT_EQ(Try(rule, "nan").error, "label \"nan\" is not a number");
}

}  // namespace
}  // namespace capstan
