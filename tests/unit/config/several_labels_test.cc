// data.schema.labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

std::string JobOf(const std::string& schema, const std::string& model = "preset: mlp",
                  const std::string& rest = "") {
  return absl::StrCat(
      "job: a\ndata: {format: csv, train: a, header: true, eval: {all: b, new: c}, schema: {",
      schema, ", numeric: 5-7}}\nmodel: {", model, "}\n", rest);
}

TEST(SeveralLabelsTest, HaveColumnsAndWeights) {
  const absl::StatusOr<v1::JobSpec> job =
      ParseJob({.text = JobOf("labels: {click: {column: clicked}, buy: {column: 3, weight: 0.2}}",
                              "preset: mlp", "train: {early_stop: {metric: new/buy/auc}}\n")});
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->data().labels_size(), 2);
  EXPECT_EQ(job->data().labels(0).name(), "click");
  EXPECT_EQ(job->data().labels(0).column_name(), "clicked");
  EXPECT_EQ(job->data().labels(0).weight(), 1);
  EXPECT_EQ(job->data().labels(1).column(), 3u);
  EXPECT_FLOAT_EQ(job->data().labels(1).weight(), 0.2f);
  EXPECT_FALSE(job->data().labels(1).may_be_missing());
}

TEST(SeveralLabelsTest, MayBeMissingWhereTheJobSaysSo) {
  const absl::StatusOr<v1::JobSpec> job = ParseJob(
      {.text = JobOf("labels: {click: {column: clicked}, buy: {column: 3, optional: true}}")});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->data().labels(0).may_be_missing());
  EXPECT_TRUE(job->data().labels(1).may_be_missing());
}

TEST(SeveralLabelsTest, AreRefusedWithTheirKeyAndWhatWasExpected) {
  constexpr char kTwo[] = "labels: {click: {column: 0}, buy: {column: 1}}";
  EXPECT_THAT(Refusal(JobOf("labels: {click: {column: 0}}")),
              HasSubstr("job.yaml:2: data.schema.labels: names one label; expected two or more, or "
                        "schema.label: a column"));
  EXPECT_THAT(
      Refusal(JobOf("labels: {click: {column: 0}, buy: {weight: 2}}")),
      HasSubstr("job.yaml:2: data.schema.labels.buy.column: is missing; expected a column"));
  EXPECT_THAT(Refusal(JobOf("labels: {click: {column: 0}, buy: {column: 1, weight: 0}}")),
              HasSubstr("data.schema.labels.buy.weight"));
  EXPECT_THAT(Refusal(JobOf("labels: {click: {column: 0}, buy: {column: 0}}")),
              HasSubstr("data.schema.labels: column 0 is used twice"));
  EXPECT_THAT(Refusal(JobOf("labels: {click: {column: 0}, buy: {column: 5}}")),
              HasSubstr("data.schema.numeric: column 5 is used twice"));
  EXPECT_THAT(Refusal(JobOf(absl::StrCat("label: 2, ", kTwo))),
              HasSubstr("data.schema.labels: cannot stand beside label"));
  EXPECT_THAT(Refusal(JobOf("labels: {click: {column: 0}, new: {column: 1}}")),
              HasSubstr("new is the name of a set of data.eval, too"));
  std::string many = "labels: {";
  for (int i = 8; i < 40; ++i)
    absl::StrAppend(&many, i == 8 ? "" : ", ", "l", i, ": {column: ", i, "}");
  EXPECT_EQ(ParseJob({.text = JobOf(many + "}")}).status(), absl::OkStatus());
  const std::string sets = "{all: b, c: c, d: d, e: e, f: f}";
  std::string job = JobOf(many + "}");
  job.replace(job.find("{all"), std::string("{all: b, new: c}").size(), sets);
  EXPECT_THAT(Refusal(job), HasSubstr("32 labels in 5 sets of data.eval are measured apart 160"));
  EXPECT_THAT(Refusal(JobOf(kTwo, "preset: mlp, loss: softmax, outputs: 3")),
              HasSubstr("several labels are for loss: logistic or squared"));
  EXPECT_THAT(Refusal(JobOf(kTwo, "preset: mlp, outputs: 2")),
              HasSubstr("model.outputs: is the number of data.schema.labels; leave it out"));
  EXPECT_THAT(Refusal(JobOf(kTwo, "preset: mlp", "train: {early_stop: {metric: click/auc}}\n")),
              HasSubstr("\"click\" is no further set of data.eval and no further label"));
}

}  // namespace
}  // namespace capstan
