// What job.yaml may not say of held-out records and of what is measured on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(BadEvaluationTest, EarlyStopNeedsDataToMeasureOn) {
  EXPECT_EQ(RefusalOf("train: {early_stop: {metric: auc}}"),
            "job.yaml:4: train.early_stop: needs data.eval, on which the metric is measured");
}

TEST(BadEvaluationTest, EarlyStopNeedsAMetricThatIsMeasuredWithTheLoss) {
  const std::string head =
      "job: small\ndata: {format: csv, train: a, eval: b, schema: {categorical: 1}}\n";
  EXPECT_EQ(Refusal(head + "model: {preset: lr}\ntrain: {early_stop: {metric: rmse}}\n"),
            "job.yaml:4: train.early_stop.metric: rmse is not measured with loss: logistic; "
            "expected one of auc, logloss, accuracy");
  EXPECT_THAT(Refusal(head + "model: {preset: mf}\ntrain: {early_stop: {metric: auc}}\n"),
              HasSubstr("auc is not measured with loss: squared; expected one of rmse"));
  EXPECT_THAT(Refusal(head + "model: {preset: softmax, outputs: 3}\n"
                             "train: {early_stop: {metric: auc}}\n"),
              HasSubstr("auc is not measured with loss: softmax"));
}

TEST(BadEvaluationTest, SetsOfHeldOutRecordsHaveNamesAndFiles) {
  const auto refusal = [](const std::string& eval, const std::string& metric) {
    return Refusal("job: a\ndata: {format: csv, train: a, schema: {categorical: 1}, eval: " + eval +
                   "}\nmodel: {preset: lr}\ntrain: {early_stop: {metric: " + metric + "}}\n");
  };
  EXPECT_THAT(refusal("{}", "auc"),
              StartsWith("job.yaml:2: data.eval: names no set; expected files, or sets of files by "
                         "name\n"));
  EXPECT_THAT(refusal("{new: []}", "auc"),
              StartsWith("job.yaml:2: data.eval.new: names no file\n"));
  EXPECT_THAT(refusal("{a/b: c}", "auc"), HasSubstr("\"a/b\" is not a name of at most 64"));
  EXPECT_EQ(
      refusal("{all: b, new: c}", "old/auc"),
      "job.yaml:4: train.early_stop.metric: old/auc: \"old\" is no further set of data.eval and "
      "no further label of data.schema; those of the first one are named without it");
  EXPECT_THAT(refusal("{all: b, new: c}", "all/auc"), HasSubstr("named without it"));
  EXPECT_THAT(refusal("{all: b, new: c}", "new/rmse"),
              HasSubstr("rmse is not measured with loss: logistic"));
}

TEST(BadEvaluationTest, AGroupIsForTheAucOfALogisticLoss) {
  const auto refusal = [](const std::string& model, const std::string& schema) {
    return Refusal("job: a\ndata: {format: csv, train: a, eval: b, schema: {" + schema +
                   "categorical: 1}}\nmodel: {" + model +
                   "}\ntrain: {early_stop: {metric: group_auc}}\n");
  };
  EXPECT_THAT(refusal("preset: mf", "group: 1, "),
              StartsWith("job.yaml:2: data.schema.group: is for the AUC within groups, which is "
                         "measured with loss: logistic only\n"));
  EXPECT_THAT(refusal("preset: lr", ""),
              HasSubstr("group_auc is not measured with loss: logistic; expected one of auc, "
                        "logloss, accuracy"));
}

}  // namespace
}  // namespace capstan
