#include "capstan/config/data_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;

v1::LabelSpec& AddLabel(v1::JobSpec& job, const std::string& name, v1::Loss loss) {
  v1::LabelSpec& label = *job.mutable_data()->add_labels();
  label.set_name(name);
  label.set_loss(loss);
  return label;
}

TEST(LabelsOfTest, TheOnlyLabelHasNoNameAndCountsOnce) {
  v1::DataSpec data;
  data.set_label_column(3);
  data.set_label_name("clicked");
  const std::vector<v1::LabelSpec> labels = LabelsOf(data);
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels[0].name(), "");
  EXPECT_EQ(labels[0].column(), 3u);
  EXPECT_EQ(labels[0].column_name(), "clicked");
  EXPECT_EQ(labels[0].weight(), 1);
  EXPECT_EQ(LabelCountOf(data), 1u);
}

TEST(LabelsOfTest, SeveralAreInTheirOrderWhateverTheOnlyOneWouldBe) {
  v1::JobSpec job;
  job.mutable_data()->set_label_column(9);
  AddLabel(job, "buy", v1::LOSS_UNSPECIFIED).set_weight(0.5f);
  AddLabel(job, "amount", v1::LOSS_SQUARED);
  const std::vector<v1::LabelSpec> labels = LabelsOf(job.data());
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0].name(), "buy");
  EXPECT_EQ(labels[0].weight(), 0.5f);
  EXPECT_EQ(labels[1].name(), "amount");
  EXPECT_EQ(LabelCountOf(job.data()), 2u);
}

TEST(LossOfDeathTest, OfNoLabelThereIsNone) {
  v1::JobSpec job;
  EXPECT_DEATH((void)LossOf(job, 1), "label < LabelCountOf");
  AddLabel(job, "buy", v1::LOSS_LOGISTIC);
  EXPECT_EQ(LossOf(job, 0), v1::LOSS_LOGISTIC);
  EXPECT_DEATH((void)LossOf(job, 1), "label < LabelCountOf");
}

TEST(AnyLabelHasTest, LooksAtEachLabelAndAtTheModelForThoseThatDoNotSay) {
  v1::JobSpec job;
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  EXPECT_TRUE(AnyLabelHas(job, v1::LOSS_LOGISTIC));
  EXPECT_FALSE(AnyLabelHas(job, v1::LOSS_SQUARED));
  AddLabel(job, "amount", v1::LOSS_SQUARED);
  EXPECT_TRUE(AnyLabelHas(job, v1::LOSS_SQUARED));
  EXPECT_FALSE(AnyLabelHas(job, v1::LOSS_LOGISTIC)) << "no label has the model's";
  AddLabel(job, "buy", v1::LOSS_UNSPECIFIED);
  EXPECT_TRUE(AnyLabelHas(job, v1::LOSS_LOGISTIC));
}

TEST(MeasuredWithTest, TheLossDecidesWhatIsMeasured) {
  EXPECT_THAT(MeasuredWith(v1::LOSS_SQUARED, /*groups=*/true), ElementsAre("rmse", "mae"));
  EXPECT_THAT(MeasuredWith(v1::LOSS_SOFTMAX, /*groups=*/true), ElementsAre("logloss", "accuracy"));
  const auto without = MeasuredWith(v1::LOSS_LOGISTIC, /*groups=*/false);
  EXPECT_EQ(std::count(without.begin(), without.end(), "group_auc"), 0);
  const auto with = MeasuredWith(v1::LOSS_LOGISTIC, /*groups=*/true);
  EXPECT_EQ(std::count(with.begin(), with.end(), "group_auc"), 1);
}

}  // namespace
}  // namespace capstan
