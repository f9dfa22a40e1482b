// data.schema.labels.<name>.loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/describe.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A label of the model's loss and one that says its own; the third line is the model's, the fourth
// the rest.
std::string Orders(const std::string& loss_of_amount, const std::string& schema = "",
                   const std::string& model = "preset: mlp", const std::string& rest = "") {
  return absl::StrCat(
      "job: a\ndata: {format: csv, train: a, header: true, eval: {all: b, new: c}, schema: "
      "{labels: "
      "{bought: {column: 0}, amount: {column: 1, loss: ",
      loss_of_amount, "}}, ", schema, "numeric: 5-7}}\nmodel: {", model, "}\n", rest);
}

std::string StoppingBy(const std::string& metric) {
  return absl::StrCat("train: {early_stop: {metric: ", metric, "}}\n");
}

TEST(LabelLossesTest, ALabelHasItsOwnLossOrElseThatOfTheModel) {
  const absl::StatusOr<v1::JobSpec> job =
      ParseJob({.text = Orders("squared", "", "preset: mlp, loss: logistic")});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->data().labels(0).loss(), v1::LOSS_UNSPECIFIED);
  EXPECT_EQ(job->data().labels(1).loss(), v1::LOSS_SQUARED);
  EXPECT_EQ(LossOf(*job, 0), v1::LOSS_LOGISTIC);
  EXPECT_EQ(LossOf(*job, 1), v1::LOSS_SQUARED);
  EXPECT_TRUE(AnyLabelHas(*job, v1::LOSS_LOGISTIC));
  EXPECT_FALSE(AnyLabelHas(*job, v1::LOSS_SOFTMAX));
  v1::JobSpec only;
  only.mutable_model()->set_loss(v1::LOSS_SOFTMAX);
  EXPECT_EQ(LossOf(only, 0), v1::LOSS_SOFTMAX) << "of the only label";
  EXPECT_THAT(DescribeJob(*job, {}).lines, Contains(EndsWith("; labels bought, amount (squared)")));
}

TEST(LossOfModelTest, IsThatOfThePresetWhereTheFileLeavesItOpen) {
  v1::ModelSpec model;
  model.set_preset("lr");
  EXPECT_EQ(LossOfModel(model), v1::LOSS_LOGISTIC);
  model.set_preset("mf");
  EXPECT_EQ(LossOfModel(model), v1::LOSS_SQUARED);
  model.set_preset("softmax");
  EXPECT_EQ(LossOfModel(model), v1::LOSS_SOFTMAX);
  model.set_preset("mlp");
  model.set_outputs(3);
  EXPECT_EQ(LossOfModel(model), v1::LOSS_SOFTMAX) << "several outputs are classes";
  model.set_loss(v1::LOSS_SQUARED);
  EXPECT_EQ(LossOfModel(model), v1::LOSS_SQUARED) << "the file says so";
}

TEST(LabelLossesTest, AreRefusedWithTheirKeyAndWhatWasExpected) {
  EXPECT_THAT(Refusal(Orders("hinge")),
              StartsWith("job.yaml:2: data.schema.labels.amount.loss: \"hinge\" is not one of "
                         "logistic, squared"));
  EXPECT_THAT(Refusal(Orders("softmax")), HasSubstr("data.schema.labels.amount.loss: \"softmax\""));
  EXPECT_THAT(Refusal(Orders("squared", "", "preset: mlp, loss: softmax, outputs: 2")),
              HasSubstr("several labels are for loss: logistic or squared"));
}

TEST(LabelLossesTest, WhatMakesTwoClassesNeedsALogisticLabel) {
  const auto refusal = [](const std::string& loss) {
    std::string job = Orders(loss, "", "preset: mlp, loss: squared");
    job.replace(job.find("header"), 0, "label_threshold: 3, ");
    const absl::Status status = ParseJob({.text = job}).status();
    return std::string(status.message());
  };
  EXPECT_EQ(refusal("logistic"), "");
  EXPECT_EQ(refusal("squared"),
            "job.yaml:2: data.label_threshold: makes labels 0 and 1, which are for loss: logistic");
}

TEST(LabelLossesTest, AGroupNeedsALogisticLabel) {
  const auto status = [](const std::string& loss) {
    return ParseJob({.text = Orders(loss, "group: 4, ", "preset: mlp, loss: squared")}).status();
  };
  EXPECT_EQ(status("logistic"), absl::OkStatus());
  EXPECT_THAT(std::string(status("squared").message()),
              HasSubstr("data.schema.group: is for the AUC within groups"));
}

TEST(LabelLossesTest, AJobStopsByAMetricThatItsLabelHas) {
  for (const char* metric : {"auc", "new/auc", "amount/rmse", "amount/mae", "new/amount/mae"}) {
    EXPECT_EQ(ParseJob({.text = Orders("squared", "", "preset: mlp", StoppingBy(metric))}).status(),
              absl::OkStatus())
        << metric;
  }
  const auto refusal = [](const std::string& metric) {
    return Refusal(Orders("squared", "", "preset: mlp", StoppingBy(metric)));
  };
  EXPECT_EQ(refusal("amount/auc"),
            "job.yaml:4: train.early_stop.metric: auc is not measured with loss: squared; "
            "expected one of rmse, mae");
  EXPECT_THAT(refusal("new/amount/logloss"), HasSubstr("logloss is not measured"));
  EXPECT_THAT(refusal("mae"), HasSubstr("mae is not measured with loss: logistic"));
}

}  // namespace
}  // namespace capstan
