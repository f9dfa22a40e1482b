#include "capstan/data/formats/labels.h"

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

v1::DataSpec TextLabels(std::vector<std::string> positive, std::vector<std::string> classes) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.mutable_positive_labels()->Assign(positive.begin(), positive.end());
  data.mutable_label_classes()->Assign(classes.begin(), classes.end());
  return data;
}

TEST(LabelRuleTest, TextsThatArePositiveAreOneAndAllOthersZero) {
  LabelRule rule(TextLabels({">50K", ">50K."}, {}), v1::LOSS_LOGISTIC, 1);
  EXPECT_EQ(Try(rule, ">50K").label, 1.0f);
  EXPECT_EQ(Try(rule, " >50K.").label, 1.0f) << "spaces around it do not count";
  EXPECT_EQ(Try(rule, "<=50K").label, 0.0f);
  EXPECT_EQ(Try(rule, " ").error, "the label is missing");
}

TEST(LabelRuleTest, OfSeveralLabelsThoseOfASquaredLossAreTheNumbersThatTheyAre) {
  v1::LabelSpec amount;
  amount.set_name("amount");
  amount.set_loss(v1::LOSS_SQUARED);
  v1::LabelSpec bought;
  bought.set_name("bought");
  const LabelRule numbers(Threshold(0), v1::LOSS_LOGISTIC, 2);
  EXPECT_EQ(Try(numbers.Of(amount), "2.5").label, 2.5f);
  EXPECT_EQ(Try(numbers.Of(bought), "2.5").label, 1.0f);
  const LabelRule texts(TextLabels({"yes"}, {}), v1::LOSS_LOGISTIC, 2);
  EXPECT_FALSE(texts.Of(amount).texts());
  EXPECT_EQ(Try(texts.Of(amount), "-3").label, -3.0f);
  EXPECT_EQ(Try(texts.Of(amount), "yes").error, "label \"yes\" is not a number");
  EXPECT_EQ(Try(texts.Of(bought), "yes").label, 1.0f);
  const LabelRule of_numbers({}, v1::LOSS_SQUARED, 2);
  bought.set_loss(v1::LOSS_LOGISTIC);
  EXPECT_FALSE(Try(of_numbers.Of(bought), "2.5").ok) << "where the model's loss is squared, too";
}

TEST(LabelRuleTest, TheLabelOfANamedClassIsItsPlace) {
  LabelRule rule(TextLabels({}, {"setosa", "versicolor", "virginica"}), v1::LOSS_SOFTMAX, 3);
  EXPECT_EQ(Try(rule, "setosa").label, 0.0f);
  EXPECT_EQ(Try(rule, "virginica").label, 2.0f);
  EXPECT_EQ(Try(rule, "virginca").error,
            "label \"virginca\" is not one of data.schema.classes; did you mean virginica?");
}

TEST(LabelRuleTest, ATextWithoutAMeaningIsAnsweredWithTheKeyThatGivesItOne) {
  EXPECT_EQ(Try(LabelRule(TextLabels({}, {}), v1::LOSS_LOGISTIC, 1), ">50K").error,
            "label \">50K\" is not a number; where labels are texts, set data.schema.positive to "
            "those that count as 1, such as \">50K\"");
  EXPECT_EQ(Try(LabelRule(TextLabels({}, {}), v1::LOSS_SOFTMAX, 3), "setosa").error,
            "label \"setosa\" is not a number; where labels are texts, set data.schema.classes to "
            "all of them");
  EXPECT_EQ(Try(LabelRule(TextLabels({}, {}), v1::LOSS_SQUARED, 1), "cheap").error,
            "label \"cheap\" is not a number");
}

TEST(LabelRuleTest, AStandardizedLabelIsItsDistanceFromTheMeanInDeviations) {
  v1::DataSpec data;
  data.set_standardize_label(true);
  data.set_label_mean(4000);
  data.set_label_deviation(2000);
  LabelRule rule(data, v1::LOSS_SQUARED, 1);
  EXPECT_EQ(Try(rule, "4000").label, 0.0f);
  EXPECT_EQ(Try(rule, "1000").label, -1.5f);
}

TEST(LabelRuleTest, OfSeveralLabelsOneThatIsMissingIsToldHowItMayBe) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  const LabelRule rule(data, v1::LOSS_LOGISTIC, 1);
  float label = 0;
  std::string error;
  EXPECT_FALSE(rule.Parse(" ", label, error));
  EXPECT_EQ(error, "the label is missing");
  v1::LabelSpec buy;
  buy.set_name("buy");
  EXPECT_FALSE(rule.Of(buy).Parse("", label, error));
  EXPECT_EQ(error,
            "the label is missing; where records may lack it, set "
            "data.schema.labels.buy.optional: true");
  buy.set_may_be_missing(true);
  EXPECT_TRUE(rule.Of(buy).Parse("", label, error));
}

}  // namespace
}  // namespace capstan
